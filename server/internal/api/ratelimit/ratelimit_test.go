package ratelimit

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/avatarstudio/avatarstudio/api"
	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// An operation whose method is safe is limited as a read, and all other operations are not.
func TestClassOf_followsTheDocument(t *testing.T) {
	t.Parallel()
	document := harness.Try(openapi3.NewLoader().LoadFromData(api.Spec))(t)
	of := make(map[class]int)
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			class := classOf(method, operation.OperationID)
			if method == http.MethodGet && classOf(http.MethodHead, operation.OperationID) != class {
				t.Errorf("HEAD %s is not of the class of GET", path)
			}
			if (class == reads) != (method == "GET") {
				t.Errorf("%s %s is of the class %d", method, path, class)
			}
			of[class]++
		}
	}
	if of[creations] != 3 || of[uploads] != 1 || of[changes] == 0 {
		t.Errorf("the classes have %v operations", of)
	}
}

// A user can use the burst at once, and then the rate. Other users and other classes have separate limits.
func TestLimiter_admitsTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(5)
		for i := range 10 {
			if wait := l.take("ada", reads); wait != 0 {
				t.Fatalf("request %d has to wait for %v", i, wait)
			}
		}
		if wait := l.take("ada", reads); wait < 99*time.Millisecond || wait > 100*time.Millisecond {
			t.Errorf("the request after them has to wait for %v, want 100ms", wait)
		}
		if l.take("ada", changes) != 0 || l.take("eve", reads) != 0 {
			t.Error("requests of another class or user are limited too")
		}
		time.Sleep(100 * time.Millisecond)
		if wait := l.take("ada", reads); wait != 0 {
			t.Errorf("after the wait, a request has to wait for %v", wait)
		}
	})
}

// Buckets that are full are removed, and others are kept.
func TestLimiter_removesUnusedBuckets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(1)
		l.take("ada", reads)
		time.Sleep(sweepInterval)
		for range 2 {
			l.take("bob", uploads)
		}
		if _, kept := l.buckets[key{"ada", reads}]; kept || len(l.buckets) != 1 {
			t.Error("a user who is away has a bucket")
		}
		l.swept = time.Time{}
		l.take("eve", reads)
		if len(l.buckets) != 2 || l.take("bob", uploads) == 0 {
			t.Error("a bucket that is in use is removed")
		}
	})
}
