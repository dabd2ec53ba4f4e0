package main

import (
	"net/http"

	"github.com/labstack/echo/v5"
	"github.com/labstack/echo/v5/middleware"
)

func withEcho(s *service, cron http.Handler) http.Handler {
	router := echo.New()
	router.Use(middleware.Recover())
	router.GET("/", echo.WrapHandler(http.HandlerFunc(s.home)))
	router.POST("/login", echo.WrapHandler(http.HandlerFunc(s.login)))
	router.Any(prefix, echo.WrapHandler(cron)) // without a slash: the dashboard redirects
	router.Any(prefix+"/*", echo.WrapHandler(cron))
	return router
}
