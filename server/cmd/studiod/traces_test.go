package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest/otlptest"
)

// A trace contains a creation, its work in the database, its rendering, each delivery attempt, and the
// receiver, even if another process makes the second attempt. It is not the trace of the caller. The request id of the
// creation is in the log lines up to its delivery, and the receiver is not told it.
func TestTraces_spanCreationToReceiver(t *testing.T) {
	t.Parallel()
	studiotest.EachDSN(t, testTraces)
}

func testTraces(t *testing.T, dsn string) {
	t.Helper()
	secret := prepareDatabase(t, dsn)
	collector := otlptest.New(t, nil)
	parents := make(chan string, 2)
	answers := make(chan int, 2)
	answers <- http.StatusInternalServerError
	answers <- http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := webhook.Verify(r.Header, body, time.Now(), secret); err != nil {
			t.Error(err)
		}
		if sent := fmt.Sprint(r.Header, string(body)); strings.Contains(sent, "creation-1") {
			t.Errorf("the receiver was sent %s", sent)
		}
		parents <- r.Header.Get("Traceparent")
		w.WriteHeader(<-answers)
	}))
	t.Cleanup(receiver.Close)

	program := append([]string{"env", collectorVariable + "=" + collector.URL + "/"}, thisProgram(t)...)
	first := startProcessBy(t, program, dsn, "--renderer=simulate:1ms")
	const callers = "0af7651916cd43dd8448eb211c80319c"
	traced := newClient(t, client.Config{BaseURL: first.URL, Email: testEmail, Password: testPassword},
		[2]string{"X-Request-Id", "creation-1"}, [2]string{"Traceparent", "00-" + callers + "-b7ad6b7169203331-01"}, [2]string{"Tracestate", "canary=state"})
	try(traced.CreateLipsync(t.Context(), lipsyncRequest("canary-title", receiver.URL+"/?canary-query")))(t)
	received := []string{<-parents}
	trace := strings.Split(received[0], "-")[1]
	harness.Eventually(t, "spans of the first process", func() bool {
		return len(collector.Named(trace, "deliver")) == 1 && len(collector.Named(trace, "createLipsync")) == 1 && len(collector.Named(trace, "render")) == 1
	})
	for _, line := range []string{"msg=request request_id=creation-1", "msg=rendered .*request_id=creation-1", `msg="delivery attempted".*request_id=creation-1`} {
		check(t, first.AwaitLog(line))
	}
	check(t, first.Stop())

	db := try(store.Open(t.Context(), dsn, store.Config{}))(t)
	check(t, db.ShiftDue(t.Context(), -time.Minute)) // makes the retry due now
	studiotest.FinishTasks(t, db, time.Now())
	check(t, db.Close())
	second := startProcessBy(t, program, dsn, "--renderer=simulate:1ms")
	received = append(received, <-parents)
	harness.Eventually(t, "the span of the second attempt", func() bool { return len(collector.Named(trace, "deliver")) == 2 })
	check(t, second.Stop())

	creations, renderings := collector.Named(trace, "createLipsync"), collector.Named(trace, "render")
	if len(creations) != 1 || len(renderings) != 1 {
		t.Fatalf("the spans are %v", collector.Spans())
	}
	creation, rendering := creations[0], renderings[0]
	if creation.Parent != "" || creation.Link != callers || trace == callers {
		t.Errorf("the creation is %s", creation.Text)
	}
	if rendering.Parent != creation.ID || rendering.Attributes["studio.outcome"] != "succeeded" {
		t.Errorf("the rendering is %s", rendering.Text)
	}
	attempts := collector.Named(trace, "deliver")
	if len(attempts) != 2 {
		t.Fatalf("%d attempts are in the trace", len(attempts))
	}
	for i, outcome := range []string{"pending", "delivered"} {
		if a := attempts[i]; a.Parent != creation.ID || a.Attributes["studio.outcome"] != outcome || a.Error != (outcome == "pending") ||
			received[i] != "00-"+trace+"-"+a.ID+"-01" {
			t.Errorf("attempt %d, of which the receiver was told %s, is %s", i+1, received[i], a.Text)
		}
	}
	statements := 0
	for _, span := range collector.Spans() {
		if span.Trace == trace && span.Name == "INSERT subjects" {
			statements++
		}
		if span.Parent == "" && span.Name != "createLipsync" && span.Name != "login" {
			t.Errorf("a trace of its own begins with %s", span.Text)
		}
		for _, secret := range []string{"canary", testEmail, testPassword, "whsec_", "eyJ", receiver.URL} {
			if strings.Contains(span.Text, secret) {
				t.Errorf("%s is in %s", secret, span.Text)
			}
		}
	}
	if statements == 0 {
		t.Error("no statement is in the trace of the creation")
	}
}
