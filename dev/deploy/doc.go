// Package deploy holds the tests of what is in deploy: Compose files, the Helm chart and the
// plain manifests. It is a module of its own, so that the loaders of Compose and Helm and
// the types of Kubernetes are dependencies of these tests alone.
//
// What needs Helm has the build tag helm, since it takes minutes to compile: make chart.
package deploy
