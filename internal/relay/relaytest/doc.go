// Package relaytest proves that a relay keeps its promises on a broker: [Run] is
// the suite that every [relay.Broker] passes, the parts of it alone and a relay
// of two nodes on top. Its [Net], [Desktop] and [Assistant] speak the API like
// strangers would, without any key: their envelopes hold random bytes.
//
//	func TestBroker(t *testing.T) {
//		relaytest.Run(t, func(t *testing.T, now func() time.Time) []relay.Broker {
//			m := relay.NewMemory(now)
//			return []relay.Broker{m, m}
//		})
//	}
package relaytest
