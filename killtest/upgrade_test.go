package killtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// GW-013: an offer of compression is declined, and the handshake goes on.
func TestCompressionIsDeclined(t *testing.T) {
	w := newWorld(t, 1)
	p := w.start()
	defer w.stop(p)
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", w.port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n", w.port)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("answer %s with extensions %q, want 101 without", resp.Status, resp.Header.Get("Sec-WebSocket-Extensions"))
	}
	head := make([]byte, 1)
	if _, err := io.ReadFull(r, head); err != nil || head[0] != 0x81 { // a whole text frame, not compressed
		t.Errorf("the first frame begins with %#x (%v), want 0x81", head, err)
	}
}
