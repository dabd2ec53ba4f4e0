package main

const (
	onEtcd    = "stores/etcd"
	etcdCalls = onEtcd + "/calls.go"
)

var etcd = promise{
	page: "architecture.md",
	text: "etcd decides by versions, and a restored backup is another incarnation.",
	plants: []plant{
		{"etcd: versions are not compared", in(onEtcd, "TestKits").with("-short"), []edit{
			{etcdCalls, "for _, c := range t.If {", "for _, c := range t.If[:0] {"},
		}},
		{"etcd: versions are not compared, in a campaign", in(onEtcd, "TestCampaign").saying("ran twice"), []edit{
			{etcdCalls, "for _, c := range t.If {", "for _, c := range t.If[:0] {"},
		}},
		{"etcd: the incarnation is not compared", in(onEtcd, "TestRestore").with("-short"), []edit{
			{etcdCalls, "[]clientv3.Cmp{clientv3.Compare(clientv3.Value(s.incarnationKey()), \"=\", t.Incarnation)}", "[]clientv3.Cmp{}"},
		}},
		{"etcd: a restored backup goes unnoticed", in(onEtcd, "TestRestore").with("-short"), []edit{
			{etcdCalls, "stored.number <= known.number && h.Revision < revision", "h.Revision < 0"},
		}},
	},
}
