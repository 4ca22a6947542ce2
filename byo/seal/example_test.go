package seal_test

import (
	"encoding/json"
	"fmt"
	"log"

	"openclaw/byo"
	"openclaw/byo/seal"
)

// A desktop and a plugin pair with a long code, and a job goes there and back. What
// passes between them here goes through a relay in life.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	desktopSecret, err := seal.Generate(nil)
	check(err)
	pluginSecret, err := seal.Generate(nil)
	check(err)
	desktopNonce, err := seal.NewNonce(nil)
	check(err)
	pluginNonce, err := seal.NewNonce(nil)
	check(err)
	psk, err := seal.NewPSK(nil) // inside the long code, past the relay
	check(err)

	// The desktop commits, the plugin answers with its nonce, the desktop reveals.
	commitment := seal.Commit(desktopSecret.Public(), desktopNonce)
	fmt.Println("commitment holds:", seal.CheckCommitment(commitment, desktopSecret.Public(), desktopNonce))
	h := seal.Handshake{
		IntegrationID: "11111111-1111-4111-8111-111111111111", ProviderKind: byo.ProviderOpenClaw,
		DesktopKey: desktopSecret.Public(), PluginKey: pluginSecret.Public(),
		DesktopNonce: desktopNonce, PluginNonce: pluginNonce, PSK: psk,
	}
	desktopRoot, err := h.Derive(desktopSecret, seal.Desktop)
	check(err)
	pluginRoot, err := h.Derive(pluginSecret, seal.Plugin)
	check(err)
	fmt.Println("plugin trusts desktop:", pluginRoot.CheckConfirm(seal.Desktop, desktopRoot.Confirm(seal.Desktop)))
	fmt.Println("desktop trusts plugin:", desktopRoot.CheckConfirm(seal.Plugin, pluginRoot.Confirm(seal.Plugin)))
	fmt.Println("both show the same number:", desktopRoot.SAS() == pluginRoot.SAS())

	desktop, plugin := seal.NewDuplex(desktopRoot, seal.Config{}), seal.NewDuplex(pluginRoot, seal.Config{})

	// A job: what the relay sees of it is bound into the content.
	input, err := json.Marshal(byo.ReasoningInput{UserPrompt: "What did they say about the price?"})
	check(err)
	job := seal.Header{JobID: "22222222-2222-4222-8222-222222222222", Purpose: byo.PurposeLiveAnalysis, DeadlineAt: "2126-01-02T03:04:05Z"}
	job.ContentType = byo.ContentReasoningInput
	request, err := desktop.Seal(job, input)
	check(err)
	bound := seal.Binding{JobID: job.JobID, Purpose: job.Purpose, DeadlineAt: job.DeadlineAt, ContentType: byo.ContentReasoningInput}
	opened, err := plugin.Open(request, bound)
	check(err)
	fmt.Printf("%s\n", opened)
	_, err = plugin.Open(request, bound)
	fmt.Println("again:", err)

	// Its answer.
	job.ContentType, job.CorrelationID = byo.ContentReasoningOutput, request.MessageID
	answer, err := plugin.Seal(job, []byte(`{"result":{"signals":[],"no_signal_reason":"nothing yet"}}`))
	check(err)
	bound.ContentType, bound.CorrelationID = byo.ContentReasoningOutput, request.MessageID
	opened, err = desktop.Open(answer, bound)
	check(err)
	fmt.Printf("%s\n", opened)

	// Output:
	// commitment holds: true
	// plugin trusts desktop: true
	// desktop trusts plugin: true
	// both show the same number: true
	// {"user_prompt":"What did they say about the price?"}
	// again: envelope was opened before or is too old
	// {"result":{"signals":[],"no_signal_reason":"nothing yet"}}
}
