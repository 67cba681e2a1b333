package clienttest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
)

const (
	accessLifetime  = time.Hour
	refreshLifetime = 30 * 24 * time.Hour
	maxLoginTries   = 10
	maxLoginDelay   = 15 * time.Minute
	loginMemory     = time.Hour
)

type user struct{ id, password string }

// loginTry counts failed logins for one email, or sample notifications of one user.
type loginTry struct {
	count int
	began time.Time // start of the window, or time of the last failed login
}

type access struct {
	userID  string
	expires time.Time
}

// refresh is a refresh token. The tokens that descend from one login are a family.
type refresh struct {
	userID  string
	expires time.Time
	used    bool
	family  *family
}

type family struct{ revoked bool }

func normalize(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// addUser adds a user and returns the id, or "" if the email is taken.
func (s *studio) addUser(email, password string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	email = normalize(email)
	if s.users[email] != nil {
		return ""
	}
	s.users[email] = &user{id: newID(), password: password}
	return s.users[email].id
}

func (s *studio) expireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

var errToken = errors.New("clienttest: the access token is unknown or has expired")

// authenticate checks an access token.
func (s *studio) authenticate(_ context.Context, token string) (server.Principal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.access[token]
	if !ok || !known.expires.After(now()) {
		return server.Principal{}, errToken
	}
	return server.Principal{UserID: known.userID}, nil
}

func (s *studio) Login(_ context.Context, request gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	email, now := normalize(request.Body.Email), now()
	try := s.tries[email]
	if !try.began.Add(loginMemory).After(now) {
		try = loginTry{}
	}
	delay := min(maxLoginDelay, time.Second<<min(max(0, try.count-maxLoginTries), 20))
	if wait := try.began.Add(delay).Sub(now); try.count >= maxLoginTries && wait > 0 {
		return nil, &server.Error{
			Status: http.StatusTooManyRequests, Code: "too_many_login_tries", Detail: "Too many failed logins. Try again later.", RetryAfter: wait,
		}
	}
	user := s.users[email]
	if user == nil || user.password != request.Body.Password {
		try.count, try.began = try.count+1, now
		s.tries[email] = try
		return nil, unauthorized()
	}
	delete(s.tries, email)
	return gen.Login200JSONResponse(s.pair(user.id, &family{}, now)), nil
}

// RefreshTokens treats the reuse of a refresh token as theft.
func (s *studio) RefreshTokens(
	_ context.Context, request gen.RefreshTokensRequestObject,
) (gen.RefreshTokensResponseObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, now := s.refresh[request.Body.RefreshToken], now()
	if token == nil || token.family.revoked || !token.expires.After(now) {
		return nil, unauthorized()
	}
	if token.used {
		token.family.revoked = true
		return nil, unauthorized()
	}
	token.used = true
	return gen.RefreshTokens200JSONResponse(s.pair(token.userID, token.family, now)), nil
}

func unauthorized() error {
	return &server.Error{Status: http.StatusUnauthorized, Code: "wrong_credentials", Detail: "The credentials are wrong."}
}

// pair issues an access token and a refresh token. The access token has the format of a JWT, for clients
// that read its expiry.
func (s *studio) pair(userID string, family *family, now time.Time) gen.TokenPair {
	expires := now.Add(accessLifetime)
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, userID, now.Unix(), expires.Unix())
	pair := gen.TokenPair{
		AccessToken:  encode([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + encode([]byte(claims)) + "." + rand.Text(),
		RefreshToken: rand.Text(),
	}
	s.access[pair.AccessToken] = access{userID: userID, expires: expires}
	s.refresh[pair.RefreshToken] = &refresh{userID: userID, expires: now.Add(refreshLifetime), family: family}
	return pair
}
