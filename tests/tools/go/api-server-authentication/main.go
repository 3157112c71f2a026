// Authenticates a bearer token as a kube-apiserver with the same flags would: with its own
// flags, its own validation of them and its own authenticators.
//
//	api-server-authentication --oidc-issuer-url=URL ... < TOKEN
//	api-server-authentication --authentication-config=FILE < TOKEN
//
// Prints the user as JSON, or says on stderr why the token is refused and ends with 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// The keys of the issuer are fetched in the background.
const patience = 60 * time.Second

func main() {
	found, err := authenticate(os.Args[1:], os.Stdin)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(map[string]any{
			"username": found.GetName(),
			"groups":   found.GetGroups(),
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func authenticate(flags []string, tokens io.Reader) (user.Info, error) {
	token, err := io.ReadAll(tokens)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodGet, "https://kubernetes/api", nil)
	if err != nil {
		return nil, err
	}
	server, err := newAuthenticator(flags)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		// The server takes the token out of the request.
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		response, ok, err := server.AuthenticateRequest(request)
		switch {
		case err != nil && strings.Contains(err.Error(), "not initialized") && time.Now().Before(deadline):
			continue
		case err != nil:
			return nil, err
		case !ok:
			return nil, errors.New("the token is of no known issuer")
		}
		return response.User, nil
	}
}

func newAuthenticator(arguments []string) (authenticator.Request, error) {
	authentication := options.NewBuiltInAuthenticationOptions().WithOIDC()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	authentication.AddFlags(flags)
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if err := errors.Join(authentication.Validate()...); err != nil {
		return nil, err
	}
	config, err := authentication.ToAuthenticationConfig()
	if err != nil {
		return nil, err
	}
	server, _, _, _, err := config.New(context.Background())
	return server, err
}
