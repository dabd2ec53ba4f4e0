package main

const (
	onZooKeeper     = "stores/zookeeper"
	zooKeeperCommit = onZooKeeper + "/commit.go"
	zooKeeperRead   = onZooKeeper + "/read.go"
)

var zookeeper = promise{
	page: "architecture.md",
	text: "ZooKeeper decides by versions, answers are of one moment, and a restored backup is another incarnation.",
	plants: []plant{
		{"zookeeper: versions are not compared", in(onZooKeeper, "TestKits").with("-short"), []edit{
			{zooKeeperCommit, "for _, c := range t.If {", "for _, c := range t.If[:0] {"},
		}},
		{"zookeeper: campaigns compare no versions", in(onZooKeeper, "TestCampaign").saying("ran twice"), []edit{
			{zooKeeperCommit, "for _, c := range t.If {", "for _, c := range t.If[:0] {"},
		}},
		{"zookeeper: what is absent is not compared", in(onZooKeeper, "TestKits").with("-short"), []edit{
			{zooKeeperCommit, "		b.remove(c.Key, 0)", "		_ = c"},
		}},
		{"zookeeper: answers are of several moments", in(onZooKeeper, "TestKits").with("-short"), []edit{
			{zooKeeperRead, "a.again = err == nil && stat.Mzxid != c.z", "_ = stat"},
		}},
		{"zookeeper: the incarnation is not compared", in(onZooKeeper, "TestRestore").with("-short"), []edit{
			{zooKeeperCommit, "Path: incarnation + \"/\" + escape(t.Incarnation)", "Path: incarnation"},
		}},
		{"zookeeper: a restored backup goes unnoticed", in(onZooKeeper, "TestRestore").with("-short"), []edit{
			{onZooKeeper + "/incarnation.go", "now.incarnation == known && now.count.below(seen)", "false"},
		}},
	},
}
