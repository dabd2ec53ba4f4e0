package main

import "net/http"

func netHTTP(s *service, cron http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("POST /login", s.login)
	mux.Handle(prefix+"/", cron)
	return mux
}
