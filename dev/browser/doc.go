// Package browser holds the tests of the dashboard in a browser: Chromium, without a
// window, at a cluster of three replicas and five Redis servers, each a process of
// its own. It is a module of its own, since the main one must not depend on what
// drives the browser.
//
// The tests run on PostgreSQL and on MariaDB, too. With -short each test takes one of the
// two, and leaves out there what does not depend on the store.
//
// The tests start their own servers on loopback, and fail where redis-server, postgres,
// mariadbd or Chromium is missing. They wait for what a page says and never for a while.
//
// With -args -gallery=DIR, TestGallery writes pictures of the pages (make gallery).
package browser
