package sender

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
)

// trace records the progress of a request through the transport, because the errors of the transport do not
// contain the dialed address or the progress. The transport may continue to dial, and call the hooks, after
// the request has ended.
type trace struct {
	guard *guard

	mu        sync.Mutex
	address   string
	tlsFailed bool
	responded bool // whether any byte of a response was received
}

func (t *trace) attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart: func(network, address string) { // also called for addresses that control then blocks
			if t.guard.control(ctx, network, address, nil) == nil {
				t.set(func() { t.address = address })
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			t.set(func() { t.address, t.tlsFailed = info.Conn.RemoteAddr().String(), false })
		},
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			t.set(func() { t.tlsFailed = err != nil })
		},
		GotFirstResponseByte: func() {
			t.set(func() { t.responded = true })
		},
	})
}

func (t *trace) set(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
}

// dialed returns the ip:port of the connection, or of the last one that was tried.
func (t *trace) dialed() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.address
}

// failure classifies an error of the transport.
func (t *trace) failure(err error) Failure {
	t.mu.Lock()
	defer t.mu.Unlock()
	timeout, isNet := errors.AsType[net.Error](err)
	_, isDNS := errors.AsType[*net.DNSError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case isNet && timeout.Timeout():
		return FailureTimeout
	case isDNS:
		return FailureDNS
	case t.tlsFailed:
		return FailureTLS
	case isOp && op.Op == "dial":
		return FailureConnect
	case !t.responded:
		return FailureReset
	default:
		return FailureProtocol
	}
}
