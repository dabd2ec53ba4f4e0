// Package execjob is the built-in job "exec": one command per run.
//
//	jobs:
//	  backup:
//	    func: exec
//	    schedule: "0 2 * * *"
//	    params:
//	      command: [/usr/local/bin/backup, --all]   # no shell; write [sh, -c, "…"] for one
//	      env: {PGPASSWORD: "${file:/run/secrets/pg}"}
//	      dir: /var/backups
//	      inherit_env: false                        # default: only PATH, HOME, TZ and LANG
//	      kill_grace: 1s                            # default; below lock.safety_margin
//
// The command finds QUORATE_JOB, QUORATE_TICK (RFC 3339, UTC), QUORATE_TOKEN,
// QUORATE_ATTEMPT and QUORATE_REPLICA in its environment. It reads nothing from
// standard input. With inherit_env it also finds what the replica does, but for the
// replica's settings and variables that hold secrets of its configuration. What it
// writes is logged line by line, and the end of it is
// kept for the error of a run that failed.
//
// # Nothing is left behind
//
// The command and everything it starts are one process group. The run ends
// when the command has exited and its group is gone: processes it left running
// are ended too, since no lease protects them any more. When the context of
// the run ends first, the group gets SIGTERM, and SIGKILL after kill_grace.
//
// The group also ends when the replica dies, of SIGKILL too:
//
//	replica ──pipe──► guard (/bin/sh, leader of the group)
//	   │                ▲ on end of file: SIGKILL to the group
//	   └──starts──► command ──► its children
//
// The guard ignores the signals that ask to end and reads from a pipe that
// only the replica can write to. The kernel closes that end with the replica,
// and the guard kills its group, itself included. There is no instant without
// a guard: the command is started after the guard has said that it listens,
// and the child that becomes the command holds the pipe open until it is in
// the group.
//
// Not covered: a process that leaves the group (setsid, a daemon of its own),
// one that runs as another user (sudo), and a replica that is paused, not
// dead: its lease runs out, and the token is what protects the sink.
//
// It runs on Linux and macOS; elsewhere each run fails and says so.
package execjob
