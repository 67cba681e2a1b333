package soak_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// A daemon serves, and one of the next version migrates the database. Both serve behind a load balancer with the same
// key. The old one is restarted and then stopped. No request fails, and no event is duplicated.
func TestRollingUpdate_toNextVersion(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it builds another daemon")
	d := &deployment{t: t, dsn: studiotest.NewEmptyPostgres(t), userID: uuid.NewString()}
	oldProgram, err := daemonProgram()
	check(t, err)
	newProgram := buildNextDaemon(t)
	command := func(program string) []string {
		return []string{"env", "STUDIO_KEYS=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", program}
	}
	start := func(program string) (p *harness.Daemon, address string) {
		p = d.startAs(command(program), d.dsn, "--renderer=simulate:20ms")
		return p, *d.address.Load()
	}
	run(t, password+"\n", append(command(oldProgram), "user", "add", "--db", d.dsn, "--id", d.userID, email)...)
	balancer := &balancer{}
	t.Cleanup(balancer.CloseIdleConnections)
	d.client, err = client.New(client.Config{
		BaseURL: "http://studio.example.com", AllowHTTP: true, Email: email, Password: password,
		HTTPClient: &http.Client{Transport: balancer}, Retry: client.Retry{Attempts: 1},
	})
	check(t, err)

	first, address := start(oldProgram)
	balancer.setAddresses(address)
	secrets, err := d.client.GetWebhookSecrets(t.Context())
	check(t, err)
	d.secret, err = webhook.ParseSecret(secrets.Data[0].Secret)
	check(t, err)
	const origins, some = 20, 300
	r := receive(d, origins, nil)
	var created atomic.Int64
	stop := d.createAvatars(4, r.urls, func(_ time.Time, avatar *gen.Avatar, err error) bool {
		if err == nil {
			created.Add(1)
			_, err = d.client.GetAvatar(t.Context(), avatar.AvatarID)
		}
		if err != nil {
			t.Error(err)
		}
		return err == nil
	})
	defer stop()
	r.waitAccepted(some)

	second, secondAddress := start(newProgram)
	for _, restart := range []bool{true, false} {
		balancer.setAddresses(address, secondAddress)
		check(t, first.AwaitLog(evenLanes))
		check(t, second.AwaitLog(evenLanes))
		_, accepted, _ := r.count()
		firstLogs, secondLogs := len(first.Log()), len(second.Log())
		r.waitAccepted(accepted + some)
		check(t, first.AwaitLogAfter(firstLogs, "delivery attempted"))
		check(t, second.AwaitLogAfter(secondLogs, "delivery attempted"))
		balancer.setAddresses(secondAddress)
		secondLogs = len(second.Log())
		check(t, first.Stop()) // it may have logged errors and retries caused by the locks of the migration
		check(t, second.AwaitLogAfter(secondLogs, "lanes=256"))
		if restart {
			first, address = start(oldProgram)
		}
	}
	_, accepted, _ := r.count()
	r.waitAccepted(accepted + some)
	stop()
	all := 3 * int(created.Load())
	r.waitAccepted(all)
	listed := studiotest.Events(t, studiotest.Open(t, d.dsn), studio.EventFilter{UserID: d.userID})
	if len(listed) != all {
		t.Errorf("the user sees %d events, want %d", len(listed), all)
	}
	check(t, second.Stop())
	if !strings.Contains(second.Log(), "the database is migrated") {
		t.Error("the new daemon did not migrate the database")
	}
	if strings.Contains(second.Log(), "level=ERROR") {
		t.Error("the new daemon logged an error")
	}
	r.wantAllDelivered(d, all, 0)
}

// balancer is a load balancer (round robin).
type balancer struct {
	http.Transport

	next      atomic.Int64
	mu        sync.RWMutex // read-locked during a request
	addresses []string
}

// setAddresses changes the addresses, after all requests to the previous ones have ended.
func (b *balancer) setAddresses(addresses ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addresses = addresses
}

func (b *balancer) RoundTrip(request *http.Request) (*http.Response, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	request = request.Clone(request.Context())
	request.URL.Host = b.addresses[int(b.next.Add(1))%len(b.addresses)]
	return b.Transport.RoundTrip(request)
}

// buildNextDaemon builds studiod with one more migration, and returns its path.
func buildNextDaemon(t *testing.T) (path string) {
	t.Helper()
	directory := t.TempDir()
	path, migration, overlay := filepath.Join(directory, "studiod"), filepath.Join(directory, "next.sql"), filepath.Join(directory, "overlay")
	check(t, os.WriteFile(migration, []byte(`-- +goose Up
		ALTER TABLE subjects ADD COLUMN next TEXT NOT NULL DEFAULT 'new';
		UPDATE compatibility SET oldest = version, version = 9999;`), 0o600))
	added, err := filepath.Abs(filepath.Join("..", "..", "store", "migrations", "postgres", "09999_next.sql"))
	check(t, err)
	files, err := json.Marshal(map[string]any{"Replace": map[string]string{added: migration}})
	check(t, err)
	check(t, os.WriteFile(overlay, files, 0o600))
	run(t, "", "go", "build", "-overlay", overlay, "-o", path, daemonPackage)
	return path
}

// run runs a command with the given standard input.
func run(t *testing.T, input string, command ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Stdin = strings.NewReader(input)
	if output, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, output)
	}
}
