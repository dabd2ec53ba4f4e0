// Package campaigntest runs campaigns: three replicas that use one store work as processes of
// their own, while they and the servers of the store are killed, frozen and cut off. Afterwards
// no tick has run twice, tokens have grown, and package checker finds the ledger true.
//
// The test binary is the program: its TestMain calls cmd.Main where IsProgram says so. A
// campaign names its store by a section of the configuration:
//
//	c := campaigntest.New(t)
//	c.Configure("etcd: {endpoints: […]}", c.Commands())
//	c.Begin()
//	c.Storm(5, slices.Concat(c.ReplicaFaults(), c.MemberFaults(members, leader)))
//	c.Finish()
//
// While it storms and at its end, package readmodel compares what pages say of the jobs with the ledger.
//
// What the store may have forgotten, and when it hung, goes into [Campaign.Facts].
package campaigntest
