package rest

import (
	"context"

	"github.com/avatarstudio/avatarstudio/gen"
	"github.com/avatarstudio/avatarstudio/server"
	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// Login serves POST /users/login.
func (a *API) Login(ctx context.Context, request gen.LoginRequestObject) (gen.LoginResponseObject, error) {
	pair, err := a.studio.Login(ctx, server.ClientAddr(ctx), request.Body.Email, request.Body.Password)
	return gen.Login200JSONResponse(tokenPair(pair)), err
}

// RefreshTokens serves POST /users/refresh.
func (a *API) RefreshTokens(
	ctx context.Context, request gen.RefreshTokensRequestObject,
) (gen.RefreshTokensResponseObject, error) {
	pair, err := a.studio.Refresh(ctx, server.ClientAddr(ctx), request.Body.RefreshToken)
	return gen.RefreshTokens200JSONResponse(tokenPair(pair)), err
}

// Logout serves POST /users/logout.
func (a *API) Logout(ctx context.Context, request gen.LogoutRequestObject) (gen.LogoutResponseObject, error) {
	return gen.Logout204Response{}, a.studio.EndSession(ctx, request.Body.RefreshToken)
}

func tokenPair(pair studio.TokenPair) gen.TokenPair {
	return gen.NewTokenPair(pair.Access, pair.Refresh)
}
