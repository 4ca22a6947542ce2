// Package seal agrees on keys, seals and opens the content of StageWhisper: what
// a desktop and its assistant say to each other through a relay that must not
// read it. It is pure: no files, no network, and clock and random source can be
// injected. It keeps no state but what its values hold.
//
// A pairing ends in a [Handshake], from which both sides derive the same [Root].
// Its tags ([Root.Confirm]) or its number for people to compare ([Root.SAS])
// show whether somebody stood in between. The root makes a [Duplex], which seals
// and opens duplex_v2 envelopes with a key for each direction and epoch, refuses
// what was reflected, replayed, changed or meant for something else, and changes
// its keys now and then:
//
//	root, err := seal.Handshake{…}.Derive(secret, seal.Plugin)
//	if !root.CheckConfirm(seal.Desktop, tag) { … }        // abort the pairing
//	d := seal.NewDuplex(root, seal.Config{Save: save})
//
//	input, err := d.Open(*job.Payload.Envelope, seal.Binding{JobID: job.JobID, Purpose: job.Purpose,
//		DeadlineAt: job.DeadlineAt, ContentType: byo.ContentReasoningInput})
//	env, err := d.Seal(seal.Header{CorrelationID: job.Payload.Envelope.MessageID, JobID: job.JobID,
//		Purpose: job.Purpose, DeadlineAt: job.DeadlineAt, ContentType: byo.ContentReasoningOutput}, output)
//
// [Static] is the older static_v1 scheme, for peers that know nothing else and
// only by explicit choice; [Fingerprint] is all there is to verify it by.
//
// testdata holds vectors as JSON for other languages, most of them failures. The
// schemes are described in docs/byo.md#content-protection.
package seal

//go:generate go test -run Fresh$ . -update
