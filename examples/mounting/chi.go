package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

func withChi(s *service, cron http.Handler) http.Handler {
	router := chi.NewRouter()
	router.Use(middleware.Recoverer)
	router.Get("/", s.home)
	router.Post("/login", s.login)
	router.Mount(prefix, cron) // leaves the path of the request as it is
	return router
}
