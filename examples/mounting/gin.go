package main

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

func withGin(s *service, cron http.Handler) http.Handler {
	router := gin.New()
	router.Use(gin.Recovery())
	router.GET("/", gin.WrapF(s.home))
	router.POST("/login", gin.WrapF(s.login))
	router.Any(prefix+"/*path", gin.WrapH(cron))
	return router
}
