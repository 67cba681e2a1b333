package soak_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/avatarstudio/avatarstudio/client"
	"github.com/avatarstudio/avatarstudio/client/webhook"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studiotest"
)

// A daemon of the version before serves, a new one migrates the database, both serve behind one load
// balancer and with one key, the old one starts once more, and stops. No request fails, and each event
// comes once.
func TestRollingUpdate_fromTheVersionBefore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("not in the short form: it builds an older daemon")
	}
	d := &deployment{t: t, dsn: studiotest.NewEmptyPostgres(t), userID: uuid.NewString()}
	before := programBefore(t)
	now, err := program()
	check(t, err)
	command := func(program string) []string {
		return []string{"env", "STUDIO_KEYS=MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", program}
	}
	start := func(program string) (p *daemon, address string) {
		p = d.startAs(command(program), d.dsn, "--render-time", "20ms")
		return p, *d.address.Load()
	}
	run(t, password+"\n", append(command(before), "user", "add", "--db", d.dsn, "--id", d.userID, email)...)
	balancer := &balancer{}
	t.Cleanup(balancer.CloseIdleConnections)
	d.client, err = client.New(client.Config{
		BaseURL: "http://studio.example.com", AllowHTTP: true, Email: email, Password: password,
		HTTPClient: &http.Client{Transport: balancer}, Retry: client.Retry{Attempts: 1},
	})
	check(t, err)

	first, address := start(before)
	balancer.between(address)
	secrets, err := d.client.GetWebhookSecrets(t.Context())
	check(t, err)
	d.secret, err = webhook.ParseSecret(secrets.Data[0].Secret)
	check(t, err)
	const origins, some = 20, 300
	r := receive(d, origins, nil)
	created, stop := d.createUntilStopped(r.urls)
	defer stop()
	r.waitAccepted(some)

	second, secondAddress := start(now)
	for _, restart := range []bool{true, false} {
		balancer.between(address, secondAddress)
		first.wait(halfOfLanes)
		second.wait(halfOfLanes)
		_, accepted, _ := r.count()
		firstLogs, secondLogs := first.logs(), second.logs()
		r.waitAccepted(accepted + some)
		first.waitAfter(firstLogs, "delivery attempted")
		second.waitAfter(secondLogs, "delivery attempted")
		balancer.between(secondAddress)
		secondLogs = second.logs()
		first.stop() // it may have logged, and repeated, what the locks of the migration kept it from
		second.waitAfter(secondLogs, "lanes=256")
		if restart {
			first, address = start(before)
		}
	}
	_, accepted, _ := r.count()
	r.waitAccepted(accepted + some)
	stop()
	all := 3 * int(created.Load())
	r.waitAccepted(all)
	listed, err := studiotest.Open(t, d.dsn).Events(t.Context(), store.EventFilter{UserID: d.userID}, "", all+1)
	check(t, err)
	if len(listed) != all {
		t.Errorf("the user is shown %d events of %d", len(listed), all)
	}
	second.stop()
	if second.logged("level=ERROR") {
		t.Error("the new daemon reports an error")
	}
	r.wantEverything(d, all, 0)
}

// createUntilStopped creates avatars, and reads each by another request.
func (d *deployment) createUntilStopped(urls []string) (created *atomic.Int64, stop func()) {
	created = new(atomic.Int64)
	stopped := make(chan struct{})
	var creating sync.WaitGroup
	for i := range 4 {
		creating.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stopped:
					return
				default:
				}
				avatar, err := d.createAvatar(d.t.Context(), uuid.NewString(), urls[n%len(urls)])
				if err == nil {
					created.Add(1)
					_, err = d.client.GetAvatar(d.t.Context(), avatar.AvatarID)
				}
				if err != nil {
					d.t.Error(err)
					return
				}
			}
		})
	}
	return created, sync.OnceFunc(func() {
		close(stopped)
		creating.Wait()
	})
}

// balancer sends requests to addresses in turn.
type balancer struct {
	http.Transport

	turn      atomic.Int64
	mu        sync.RWMutex // read for as long as a request is under way
	addresses []string
}

// between returns when no request is at an address of before.
func (b *balancer) between(addresses ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addresses = addresses
}

func (b *balancer) RoundTrip(request *http.Request) (*http.Response, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	request = request.Clone(request.Context())
	request.URL.Host = b.addresses[int(b.turn.Add(1))%len(b.addresses)]
	return b.Transport.RoundTrip(request)
}

// programBefore is the daemon of the last commit that has one migration less.
func programBefore(t *testing.T) (path string) {
	t.Helper()
	const migrations = "server/internal/store/migrations/postgres"
	root := filepath.Join("..", "..", "..")
	names, err := filepath.Glob(filepath.Join(root, migrations, "*.sql"))
	check(t, err)
	newest := migrations + "/" + filepath.Base(names[len(names)-1]) // Glob sorts
	git := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "-c", "safe.directory=*"}, args...)...)
		output, err := command.Output()
		return strings.TrimSpace(string(output)), err
	}
	added, err := git("log", "-1", "--no-renames", "--diff-filter=A", "--format=%H^", "--", newest)
	if err != nil {
		t.Skipf("no update is tested where there is no git: %v", err)
	}
	if added == "" { // it is not committed yet
		added = "HEAD"
	}
	tree, archive := t.TempDir(), filepath.Join(t.TempDir(), "tree.tar")
	if _, err := git("archive", "--output", archive, added); err != nil {
		t.Skipf("no update is tested without the commit before %s, as in a shallow clone: %v", newest, err)
	}
	run(t, "", "tar", "-xf", archive, "-C", tree)
	if _, err := os.Stat(filepath.Join(tree, newest)); err == nil {
		t.Fatalf("%s has %s already", added, newest)
	}
	path = filepath.Join(tree, "studiod")
	run(t, "", "go", "build", "-C", tree, "-buildvcs=false", "-o", path, "./server/cmd/studiod")
	return path
}

// run runs a command to its end.
func run(t *testing.T, input string, command ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Stdin = strings.NewReader(input)
	if output, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, output)
	}
}
