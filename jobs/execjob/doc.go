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
//	      kill_grace: 1s                            # below lock.safety_margin; default: two thirds of it, at most 1s
//
// The environment has QUORATE_JOB, QUORATE_TICK (RFC 3339, UTC), QUORATE_TOKEN,
// QUORATE_ATTEMPT and QUORATE_REPLICA. With inherit_env it also has the replica's
// variables, except for its settings and the secrets of its configuration. Standard
// input is empty. The output is logged line by line, and its end is kept in the error
// of a failed run.
//
// # No process is left behind
//
// The command and all its children are one process group. The run ends when the command
// has exited and the group is gone: processes that it left running are ended too, since
// no lease protects them. When the context of the run ends first, the group gets
// SIGTERM, and SIGKILL after kill_grace.
//
// The group also ends when the replica dies, even by SIGKILL:
//
//	replica ──pipe──► guard (/bin/sh, leader of the group)
//	   │                ▲ on end of file: SIGKILL to the group
//	   └──starts──► command ──► its children
//
// The guard ignores other signals, and reads from a pipe that only the replica can write
// to. When the replica dies the kernel closes the pipe, and the guard kills its group
// and itself. The command starts only after the guard has reported that it listens.
// The child that becomes the command holds the pipe open until it is in the group.
//
// # Limits
//
// These processes are not ended: one that leaves the group (setsid, a daemon), one that
// runs as another user (sudo), and those of a replica that is paused, not dead. In the
// last case the lease ends, and the token protects the sink.
//
// The package runs on Linux and macOS; elsewhere each run fails with a message.
package execjob
