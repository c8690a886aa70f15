package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// fetch returns a task that fetches a page once, over a connection of its own and without a proxy.
func fetch(command Command, waits *Waits) (Body, error) {
	spec, _ := command.word("spec")
	url := ""
	if command.has("url") {
		var err error
		if url, err = command.word("url"); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil, fmt.Errorf("workload \"%.60s\" needs a \"url\" to fetch; expected http://…", spec)
	}
	raiseFileLimit()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(<-chan struct{}) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		return waits.during(cancel, func() error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			response, err := client.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s answered %d, not 200", url, response.StatusCode)
			}
			_, err = io.Copy(io.Discard, response.Body) // fails if the body is truncated
			return err
		})
	}, nil
}
