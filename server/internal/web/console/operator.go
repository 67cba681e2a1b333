package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

const (
	usersPath      = Path + "/users"
	actsPath       = usersPath + "/log"
	workspacesPath = Path + "/workspaces"
	servicePath    = Path + "/service"
)

// Daemon describes the process that serves the pages, for operators.
type Daemon struct {
	Version string
	Started time.Time
	// Workers bounds the concurrent delivery attempts of this daemon.
	Workers int
	// RenderWorkers bounds its concurrent renderings. If it is zero or negative, the daemon renders nothing.
	RenderWorkers int
	// Missing is what rendering lacks, and how to install it. If it is "", renderings are not simulated for lack of
	// something.
	Missing string
}

// requireOperator shows a page to operators and responds with 404 to all other users. A change of the role takes
// effect with the next request, because each request reads the user from the database.
func (c *Console) requireOperator(page page) page {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if s.Role != studio.Operator {
			return studio.ErrNotFound
		}
		return page(w, r, s)
	}
}

// serviceView is the page about waiting work and the processes that do it.
type serviceView struct {
	store.Status
	pager

	Daemon      Daemon
	Connections []store.Connections
	Shared      bool // PostgreSQL, which several daemons can share
	Daemons     []store.Daemon
	Delivers    bool // some daemon does
	Breakers    []store.Breaker
	Backup      *studio.BackupStatus // nil if there are none
	BackupAge   time.Duration
}

func (c *Console) service(w http.ResponseWriter, r *http.Request, _ session) (err error) {
	ctx, db := r.Context(), c.cfg.Store
	v := serviceView{Daemon: c.cfg.Daemon, Connections: db.Connections(), Shared: db.Shared()}
	if v.Status, err = db.Status(ctx); err != nil {
		return err
	}
	if c.cfg.Backup != nil {
		v.Backup = new(c.cfg.Backup())
		v.BackupAge = v.Backup.Age(time.Now())
	}
	if v.Daemons, err = db.Daemons(ctx); err != nil {
		return err
	}
	v.Delivers = !v.Shared || slices.ContainsFunc(v.Daemons, func(d store.Daemon) bool { return d.Lanes > 0 })
	v.Breakers, v.pager, err = readPage(r, servicePath, db.OpenBreakers, func(breaker store.Breaker) string { return breaker.Origin })
	if err != nil {
		return err
	}
	return c.render(w, r, http.StatusOK, "service", view{Title: "Service", Section: servicePath, Data: v})
}
