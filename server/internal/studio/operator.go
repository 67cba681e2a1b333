package studio

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// ActRetention is how long acts are kept.
const ActRetention = 365 * 24 * time.Hour

var (
	// ErrLastOperator is returned if the service would have no operator any more.
	ErrLastOperator = refuse(http.StatusConflict, "last_operator", "No operator would be left. Make another user an operator first.")
	// ErrOwnAccount is returned to operators who would disable, demote or remove themselves.
	ErrOwnAccount = refuse(http.StatusConflict, "own_account", "Operators cannot do this to themselves. Ask another operator.")
)

// DatabaseStore stores what a service of daemons has beside the API, as [Store] does: operators and what they do, the
// console and its sessions, API keys, and the pages and renderings of subjects. Package store implements it. A service
// in memory has none of that.
type DatabaseStore interface {
	LinkStore
	APIKeyStore
	TaskStore
	// SetPassword replaces the password hash current, or any if that is "", deletes the link to reset it, and revokes
	// all tokens, as RevokeTokens does. It then adds the token of a new session, unless that is zero. The error is
	// [ErrNotFound] if a user with a new session is disabled, or the user has another hash.
	SetPassword(ctx context.Context, userID, current, hash string, session RefreshToken, now time.Time) error
	// SetRole replaces the role of a user. The links that a former operator has made end. The error is
	// [ErrLastOperator] if no operator would be left.
	SetRole(ctx context.Context, userID string, role Role) error
	// RemoveUser removes a user, whose tokens it revokes as RevokeTokens does. The links by and for the user end. All
	// records except projects are still to be erased, as a task with the ID of the user; see [TaskStore]. The error is
	// [ErrLastOperator] if no operator would be left.
	RemoveUser(ctx context.Context, userID string, now time.Time) error
	// UserByRefreshToken returns the user of a token that is valid at now, and the family of the token.
	UserByRefreshToken(ctx context.Context, hash []byte, now time.Time) (user User, family string, err error)
	// UnusedRefreshTokens returns the tokens of a user that are valid at now and not used, one of each family, the
	// newest first.
	UnusedRefreshTokens(ctx context.Context, userID string, now time.Time) ([]RefreshToken, error)
	// DeleteFamilyOf deletes a family of a user.
	DeleteFamilyOf(ctx context.Context, userID, family string, now time.Time) error
	// RevokeTokens deletes all families and known addresses of a user.
	RevokeTokens(ctx context.Context, userID string, now time.Time) error
	// Workspaces returns up to limit workspaces of a user, ordered by id.
	Workspaces(ctx context.Context, userID string, limit int) ([]Workspace, error)
	RemoveMember(ctx context.Context, workspaceID, userID string) error
	// ActiveSubject is Subject for a subject whose user is not disabled.
	ActiveSubject(ctx context.Context, id string) (Subject, error)
	// SetProgress increases Progress of a subject that is processing, and sets Stage and ReadyAt.
	SetProgress(ctx context.Context, id string, percent int, stage string, readyAt time.Time) error
	// HasOperator reports whether there is an operator who is not disabled.
	HasOperator(ctx context.Context) (bool, error)
	// SetDisabled disables a user at a time, or enables the user if it is zero. The sessions of a disabled user
	// end, and the links that the user has made. The error is [ErrLastOperator] if no operator would be left.
	SetDisabled(ctx context.Context, userID string, at, now time.Time) error
	// TroubledEndpoints returns up to limit endpoints of all users whose last attempt failed, or which are disabled
	// or paused, like [EndpointStore.Endpoints].
	TroubledEndpoints(ctx context.Context, limit int) ([]Endpoint, error)
	AddAct(ctx context.Context, act Act) error
	// WithAct returns a context for one change. The act is added with the change, or neither is. The error of the
	// change is [ErrNotFound] if the user with the OperatorID of the act is not an operator any more.
	WithAct(ctx context.Context, act Act) context.Context
	// Acts returns up to limit acts with IDs below an ID, or from the last one if it is "", the newest first.
	Acts(ctx context.Context, below string, limit int) ([]Act, error)
}

// Act is something that an operator did.
type Act struct {
	ID     string
	At     time.Time
	By     string // the email of the operator, "command line", or "" for the holder of a link
	Action string
	Target string // what it changed, such as the email of a user

	OperatorID string // who must be an operator when it happens, or ""; it is not stored
}

// RecordAct records an act that has happened.
func (s *Service) RecordAct(ctx context.Context, by User, action, target string) error {
	return s.database.AddAct(ctx, s.newAct(by, action, target))
}

// WithAct returns a context for one change of the store, which records the act: neither is without the other.
func (s *Service) WithAct(ctx context.Context, by User, action, target string) context.Context {
	return s.database.WithAct(ctx, s.newAct(by, action, target))
}

func (s *Service) newAct(by User, action, target string) Act {
	return Act{ID: NewID(), At: s.now(), By: by.Email, Action: action, Target: Line(target), OperatorID: by.ID}
}

// Invite returns the secret of a link for a new user. An earlier invitation of the same email ends. The error is
// [ErrEmail], [ErrExists] if there is a user with this email, or [ErrNotFound] if the workspace does not exist.
func (s *Service) Invite(ctx context.Context, by User, email, workspaceID string, operator bool) (secret string, err error) {
	if email, err = s.checkEmail(email); err != nil {
		return "", err
	}
	if _, err := s.UserByEmail(ctx, email); !errors.Is(err, ErrNotFound) {
		return "", errors.Join(err, ErrExists)
	}
	action := "invited"
	if operator {
		action = "invited as an operator"
	}
	ctx = s.WithAct(ctx, by, action, email)
	return s.newLink(ctx, Link{Purpose: InviteLink, Email: email, WorkspaceID: workspaceID, Operator: operator, By: by.ID})
}

// actOn returns the user with an email, and a context for what an operator does to the user, as WithAct does.
func (s *Service) actOn(ctx context.Context, by User, action, email string) (context.Context, User, error) {
	user, err := s.UserByEmail(ctx, email)
	return s.WithAct(ctx, by, action, user.Email), user, err
}

// NewResetLink returns the secret of a link with which a user can set a new password.
func (s *Service) NewResetLink(ctx context.Context, by User, email string) (secret string, err error) {
	ctx, user, err := s.actOn(ctx, by, "made a link to reset the password", email)
	if err != nil {
		return "", err
	}
	return s.newLink(ctx, Link{Purpose: ResetLink, Email: user.Email, By: by.ID})
}

// EndSessions ends all sessions of a user, as [Service.EndSession] ends one. All known addresses of the user are
// forgotten.
func (s *Service) EndSessions(ctx context.Context, by User, email string) error {
	ctx, user, err := s.actOn(ctx, by, "ended the sessions", email)
	if err != nil {
		return err
	}
	return s.database.RevokeTokens(ctx, user.ID, s.now())
}

// SetUserEnabled disables or enables a user. A disabled user cannot log in, all sessions have ended, the API keys are
// not accepted, and nobody sees what the user shares. What is being rendered or sent goes on.
func (s *Service) SetUserEnabled(ctx context.Context, by User, email string, enabled bool) error {
	action, at := "enabled", time.Time{}
	if !enabled {
		action, at = "disabled", s.now()
		if s.NormalizeEmail(email) == by.Email {
			return ErrOwnAccount
		}
	}
	ctx, user, err := s.actOn(ctx, by, action, email)
	if err != nil {
		return err
	}
	return s.database.SetDisabled(ctx, user.ID, at, s.now())
}

// RemoveUser removes a user at once, and then erases all avatars, videos, lip-syncs, uploads, results, secrets and
// memberships. Projects are kept, because they belong to the workspace. Before the records are erased, it waits until
// all daemons know that the user is removed, which takes more than a second: a daemon that still accepts a token of the
// user may create records. If ctx ends after that, or the process, a daemon erases the rest. The error is
// [ErrOwnAccount] if by is the user, and [ErrLastOperator] if no operator would be left.
func (s *Service) RemoveUser(ctx context.Context, by User, email string) error {
	user, err := s.UserByEmail(ctx, email)
	if err != nil {
		return err
	}
	if user.ID == by.ID {
		return ErrOwnAccount
	}
	return s.removeUser(ctx, by, user, "deleted")
}

// Leave erases a user who knows the password, as RemoveUser does. A wrong password counts as a failed login; see
// [Service.Login] for its errors.
func (s *Service) Leave(ctx context.Context, client netip.Addr, user User, password string) error {
	if _, err := s.authenticate(ctx, client, user.Email, password); err != nil {
		return err
	}
	return s.removeUser(ctx, User{Email: user.Email}, user, "left")
}

func (s *Service) removeUser(ctx context.Context, by, user User, action string) error {
	if err := s.database.RemoveUser(s.WithAct(ctx, by, action, user.Email), user.ID, s.now()); err != nil {
		return err
	}
	err := AwaitRevocation(ctx)
	if err == nil {
		err = s.finish(ctx, user.ID)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrBusy) { // the user is removed, and a daemon erases the rest
		err = nil
	}
	return err
}

// ChangeRole changes the role of a user. It takes effect with the next request.
func (s *Service) ChangeRole(ctx context.Context, by User, email string, role Role) error {
	action := "made an operator"
	if role != Operator {
		action = "made a user"
		if s.NormalizeEmail(email) == by.Email {
			return ErrOwnAccount
		}
	}
	ctx, user, err := s.actOn(ctx, by, action, email)
	if err != nil {
		return err
	}
	return s.database.SetRole(ctx, user.ID, role)
}

// TroubledEndpoints returns up to limit endpoints of all users that fail, are disabled or are paused, in this order.
func (s *Service) TroubledEndpoints(ctx context.Context, limit int) ([]Endpoint, error) {
	all, err := s.database.TroubledEndpoints(ctx, limit)
	s.complete(all...)
	all = slices.DeleteFunc(all, func(e Endpoint) bool { return e.State == EndpointOK })
	order := []EndpointState{EndpointFailing, EndpointDisabled, EndpointPaused}
	slices.SortStableFunc(all, func(a, b Endpoint) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	return all, err
}

// ChangeEndpoint pauses or enables an endpoint of a user, as [Service.SetEndpoint] does.
func (s *Service) ChangeEndpoint(ctx context.Context, by User, email, endpointID string, enabled bool) (Endpoint, error) {
	action := "paused the endpoint " + endpointID
	if enabled {
		action = "enabled the endpoint " + endpointID
	}
	ctx, user, err := s.actOn(ctx, by, action, email)
	if err != nil {
		return Endpoint{}, err
	}
	return s.SetEndpoint(ctx, user.ID, endpointID, enabled)
}

// CreateWorkspace creates a workspace, as AddWorkspace does, and returns its ID.
func (s *Service) CreateWorkspace(ctx context.Context, by User, name string) (id string, err error) {
	workspace, err := s.AddWorkspace(s.WithAct(ctx, by, "created the workspace", name), "", name)
	return workspace.ID, err
}

// ChangeMember adds a user to a workspace, which is idempotent, or removes the user. A user who is removed can list and
// create no projects from the next request on, and API keys for the workspace are refused as [Service.RevokeAPIKey]
// describes. Projects stay there, and belong to the user. The error is [ErrNotFound] if the user is not a member.
func (s *Service) ChangeMember(ctx context.Context, by User, workspaceID, email string, member bool) error {
	change, action := s.database.RemoveMember, "removed from workspace "+workspaceID
	if member {
		change, action = s.Store.AddMember, "added to workspace "+workspaceID
	}
	ctx, user, err := s.actOn(ctx, by, action, email)
	if err != nil {
		return err
	}
	return change(ctx, workspaceID, user.ID)
}

// Acts returns up to limit acts below an ID, the newest first.
func (s *Service) Acts(ctx context.Context, below string, limit int) ([]Act, error) {
	return s.database.Acts(ctx, below, limit)
}

// BackupStatus is the state of the backups of a process.
type BackupStatus struct {
	Every time.Duration
	// Began is when this process began to make backups.
	Began time.Time
	// Last is the time of the latest complete backup. It is zero if there is none.
	Last time.Time
	// Size is the size of its database in bytes, compressed.
	Size int64
	// Failed is whether a backup has failed since then.
	Failed bool
}

// Age returns the time since the latest complete backup. If there is none, it is the time since the process began to
// make backups.
func (s BackupStatus) Age(now time.Time) time.Duration {
	if s.Last.IsZero() {
		return now.Sub(s.Began)
	}
	return now.Sub(s.Last)
}
