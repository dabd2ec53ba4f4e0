package nodes

import "strings"

// commands are those that the scripts of this project, and clients outside of
// scripts (INFO, EVAL, EVALSHA), need on a node.
var commands = [...]string{
	"eval", "evalsha", "info", "time",
	"get", "set", "del", "exists", "pttl", "pexpire",
	"hget", "hmget", "hgetall", "hscan", "hset", "hdel",
	"scan", "zadd", "zrem", "zrange", "zrangebyscore", "zremrangebyrank", "zscore",
}

// ACLRules returns the rules of the least privileged user that works with the
// namespace. With a name and a password they make the line to enter:
//
//	ACL SETUSER quorate on >password ~quorate:* resetchannels -@all +eval …
func ACLRules(namespace string) string {
	return "~" + namespace + ":* resetchannels -@all +" + strings.Join(commands[:], " +")
}
