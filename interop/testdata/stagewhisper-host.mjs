// A small host for the published StageWhisper plugin: it gives the plugin what it asks
// of a gateway, with an agent that answers by rule, and runs one of its commands or its
// service. Usage: node host.mjs <plugin's entry> <config file> pair <code> <api url>
//             or: node host.mjs <plugin's entry> <config file> serve
import { createServer } from "node:http";
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [entry, configPath, verb, code, apiUrl] = process.argv.slice(2);
const readConfig = async () => JSON.parse(await readFile(configPath, "utf8"));
const writeConfig = (config) => writeFile(configPath, JSON.stringify(config), { mode: 0o600 });

// The agent: it keeps each session's messages and answers with what it was told.
const sessions = new Map();
const runs = new Map();
const messagesOf = (key) => {
  if (!sessions.has(key)) sessions.set(key, []);
  return sessions.get(key);
};
const subagent = {
  async run({ sessionKey, message, idempotencyKey }) {
    if (!runs.has(idempotencyKey)) {
      runs.set(idempotencyKey, `run-${runs.size + 1}`);
      messagesOf(sessionKey).push({ role: "user", content: message }, { role: "assistant", content: `heard: ${message}` });
    }
    return { runId: runs.get(idempotencyKey) };
  },
  async waitForRun() {
    return { status: "ok" };
  },
  async getSessionMessages({ sessionKey }) {
    return { messages: messagesOf(sessionKey) };
  },
};

// The model behind POST /v1/responses: it quotes the prompt in a signal.
const model = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { input } = JSON.parse(body);
  let prompt = input;
  try {
    prompt = JSON.parse(input).user_prompt ?? input;
  } catch {
    // a plain text
  }
  const text = JSON.stringify({ signals: [{ severity: "green", message: `about: ${prompt}` }], no_signal_reason: "" });
  response.setHeader("Content-Type", "application/json");
  response.end(
    JSON.stringify({
      id: "resp-1",
      model: "rule/based",
      output: [{ type: "message", content: [{ type: "output_text", text }] }],
      usage: { input_tokens: 1, output_tokens: 2 },
    }),
  );
});
await new Promise((ready) => model.listen(0, "127.0.0.1", ready));

const log = (level) => (text) => console.error(`${level}: ${text}`);
const config = await readConfig();
config.gateway = { ...config.gateway, port: model.address().port, auth: { mode: "token", token: "for-this-host-only" } };

// What a command line library would give: the plugin declares commands, we keep them.
const actions = new Map();
const command = (name) => {
  const self = {
    command: (spec) => command(spec.split(" ")[0]),
    description: () => self,
    option: () => self,
    requiredOption: () => self,
    action: (run) => (actions.set(name, run), self),
  };
  return self;
};

const services = [];
const plugin = (await import(pathToFileURL(entry).href)).default;
await plugin.register({
  id: "stagewhisper",
  config,
  pluginConfig: config.plugins?.entries?.stagewhisper?.config ?? {},
  registrationMode: verb === "serve" ? "full" : "cli",
  logger: { info: log("info"), warn: log("warn"), error: log("error"), debug: () => {} },
  runtime: { config: { loadConfig: readConfig, writeConfigFile: writeConfig }, subagent },
  registerChannel: () => {},
  registerCli: (declare) => declare({ program: command("") }),
  registerService: (service) => services.push(service),
});

if (verb === "pair") {
  await actions.get("pair")({ code, apiUrl, label: "published plugin", enableResponses: false });
  model.close();
} else {
  for (const service of services) await service.start({});
  console.log("ready");
  process.stdin.resume(); // its end is ours
  process.stdin.on("end", () => process.exit(0));
}
