// Runs the third-party client library against a gateway and prints what it saw as
// JSON lines. Usage: node openclaw-node.mjs <entry> <url> <token or -> <identity file> <part>
import { pathToFileURL } from "node:url";

const [entry, url, token, identity, part] = process.argv.slice(2);
const { OpenClawClient } = await import(pathToFileURL(entry).href);
const options = { url, deviceIdentityPath: identity, reconnectIntervalMs: 100, maxReconnectAttempts: 5 };
if (token !== "-") options.token = token;
if (part !== "basics") options.scopes = ["operator.admin", "operator.read", "operator.write"];
const say = (name, value) => console.log(JSON.stringify({ name, value }));

setInterval(() => {}, 1000); // the library's own timers do not keep a program alive

const open = async () => {
  const client = new OpenClawClient(options);
  client.on("error", () => {}); // a refused token is one; the client comes back by itself
  const connected = new Promise((done) => client.on("connected", done));
  const hello = await client.connect().catch(() => connected.then(() => null));
  return [client, hello];
};

const stream = async (client, message, more) => {
  let text = "";
  const kinds = new Set();
  for await (const chunk of client.chat(message, more)) {
    kinds.add(chunk.type);
    if (chunk.type === "text") text += chunk.text;
  }
  return { text, kinds: [...kinds].sort() };
};

const parts = {
  async basics(client, hello) {
    say("protocol", hello.protocol);
    say("stream", await stream(client, "say streamed ${answer}", { sessionKey: "agent:main:node" }));
    say("sync", await client.chatSync("say whole answer", { sessionKey: "agent:main:node" }));
    say("tool", await stream(client, 'tool exec {"command":"echo node-$((6*7))"} ;; result', { sessionKey: "agent:main:node" }));
    say("health", (await client.health()).ok);
  },
  async all(client, hello) {
    await parts.basics(client, hello);
    const list = await client.sessions.list({ limit: 10 });
    say("sessions", list.sessions.map((s) => s.key));
    const history = await client.sessions.history("agent:main:node", { limit: 50 });
    say("history", history.messages.filter((m) => m.role === "user").length);
    const config = await client.config.get();
    say("config", typeof config.hash === "string");
    const patched = await client.config.patch('{"ui":{"seamColor":"#abcdef"}}', config.hash, { restartDelayMs: 600000 });
    say("patched", patched.ok);
    say("colour", (await client.config.get()).config.ui.seamColor);
    say("agents", (await client.agents.list()).agents.map((a) => a.id));
    say("described", (await client.sessions.describe("agent:main:node")).session?.key ?? null);

    const events = new Set();
    const watch = await client.sessions.subscribeMessages("agent:main:node", (event) => events.add(event.event));
    const other = new OpenClawClient({ ...options, deviceIdentityPath: `${identity}.other`, token: token });
    await other.connect();
    let runId;
    for await (const chunk of other.chat("say seen by others", { sessionKey: "agent:main:node" })) runId = chunk.runId ?? runId;
    say("waited", (await client.agentWait(runId, { timeoutMs: 5000 })).status);
    await watch.unsubscribe();
    await other.disconnect();
    say("watched", [...events].sort());
  },
  async again(client) {
    say("again", await client.chatSync("say hello again", { sessionKey: "agent:main:node" }));
  },
};

if (part === "refused") {
  // First the token it kept is refused, then this device has to be approved again.
  const client = new OpenClawClient({ ...options, maxReconnectAttempts: 2 });
  client.on("pairingRequired", () => say("pairing", true));
  const gaveUp = new Promise((done) => client.on("error", (error) => error.message.includes("Max reconnect") && done()));
  client.connect().catch(() => {});
  await gaveUp;
  process.exit(0);
}
const [client, hello] = await open();
await parts[part](client, hello);
await client.disconnect();
process.exit(0);
