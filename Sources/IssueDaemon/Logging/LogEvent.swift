/// A message of the diagnostic log.
///
/// The raw value is the identifier at the end of the line (`id=store.no-space`).
/// It is stable: scripts and monitoring filter by it, while a message may be
/// reworded. Documentation/Messages.md is generated from this table.
package enum LogEvent: String, CaseIterable, Sendable {
    case configError = "config.error"
    case configDegraded = "config.degraded"
    case configWarning = "config.warning"
    case configApplyFailed = "config.apply-failed"
    case configCopyFailed = "config.copy-failed"
    case configNeedsRestart = "config.needs-restart"
    case configReloaded = "config.reloaded"

    case daemonReady = "daemon.ready"
    case daemonStopping = "daemon.stopping"
    case daemonStopped = "daemon.stopped"
    case daemonFailed = "daemon.failed"
    case daemonTemporaryFolderTaken = "daemon.tmp-folder-taken"
    case daemonSendersNotReading = "daemon.senders-not-reading"
    case daemonReadersLeft = "daemon.readers-left"

    case storeOpenFailed = "store.open-failed"
    case storeOpened = "store.opened"
    case storeNoSpace = "store.no-space"
    case storeWriteFailed = "store.write-failed"
    case storeWritable = "store.writable"
    case storeMaintenanceFailed = "store.maintenance-failed"
    case storeRecordsExpired = "store.records-expired"
    case storeRecordsThinned = "store.records-thinned"
    case storeDamaged = "store.damaged"
    case storeUnusable = "store.unusable"
    case storeForeign = "store.foreign"
    case storeReopened = "store.reopened"
    case storeReplaced = "store.replaced"
    case storeWALOrphaned = "store.wal-orphaned"
    case storeWALMissing = "store.wal-missing"
    case storeKeptDatabase = "store.kept-database"
    case storeKeptWAL = "store.kept-wal"
    case storeMoveFailed = "store.move-failed"
    case storeCheckpointFailed = "store.checkpoint-failed"
    case storeWALQueriesInterrupted = "store.wal-queries-interrupted"
    case storeWALBlocked = "store.wal-blocked"

    case limitsTooManyNames = "limits.too-many-names"

    case issueCritical = "issue.critical"
    case issueRegressed = "issue.regressed"
    case issueNew = "issue.new"
    case issueSuppressedAlerts = "issue.suppressed-alerts"

    case forwardingStartFailed = "forwarding.start-failed"
    case forwardingStarted = "forwarding.started"
    case forwardingFailed = "forwarding.failed"

    case destinationPaused = "destination.paused"
    case destinationUnreachable = "destination.unreachable"
    case destinationUnavailable = "destination.unavailable"
    case destinationAvailable = "destination.available"
    case destinationCredentialFound = "destination.credential-found"
    case destinationBatchFinished = "destination.batch-finished"
    case destinationDeadLetters = "destination.dead-letters"
    case destinationPartiallyRejected = "destination.partially-rejected"

    case socketTooManyConnections = "socket.too-many-connections"
    case socketConnectionsClosed = "socket.connections-closed"
    case socketMemoryLimit = "socket.memory-limit"
    case socketAcceptFailed = "socket.accept-failed"
    case socketAccepting = "socket.accepting"
    case socketRecreated = "socket.recreated"
    case socketRecreateFailed = "socket.recreate-failed"
    case socketUnitRestartNeeded = "socket.unit-restart-needed"
    case socketListenFailed = "socket.listen-failed"
    case socketFailed = "socket.failed"

    case queryThreadsFailed = "query.threads-failed"
    case queryTimeout = "query.timeout"
    case queryFailed = "query.failed"
    case queryStatusFailed = "query.status-failed"

    case auditStateChanged = "audit.state-changed"
    case auditStatesOmitted = "audit.states-omitted"
    case auditRequestStarted = "audit.request-started"
    case auditRequestFinished = "audit.request-finished"

    case jobFailed = "job.failed"
    case jobNoSpace = "job.no-space"
    case jobBackupFinished = "job.backup-finished"
    case jobBackupLeftOver = "job.backup-left-over"
    case jobPurged = "job.purged"
    case jobRequeued = "job.requeued"

    case repairFinished = "repair.finished"
    case repairSchemaReplaced = "repair.schema-replaced"
    case repairNoRecords = "repair.no-records"
    case repairUnreadable = "repair.unreadable"
    case repairNotAFile = "repair.not-a-file"
}

extension LogEvent {
    /// The text of an event, and its explanation for operators.
    package struct Entry: Sendable {
        /// The constant text of the line.
        package let message: StaticString
        /// The cause and the consequences, in Markdown.
        package let meaning: String
        /// The advice to the operator, in Markdown; nil if no action is needed.
        package let action: String?
        /// The `MESSAGE_ID=` of the journal entry; nil if the event is an
        /// ordinary line there, too. Several events may share one.
        package let messageID: String?

        fileprivate init(_ message: StaticString, _ meaning: String, _ action: String?, messageID: String? = nil) {
            self.message = message
            self.meaning = meaning
            self.action = action
            self.messageID = messageID
        }
    }

    /// The text and the explanation of this event.
    package var entry: Entry {
        switch self {
        // MARK: Configuration

        case .configError:
            Entry(
                "Configuration error",
                "A configuration file has an error; `error=` names the file, the line and what is expected. At "
                    + "most ten errors are logged individually.",
                "Fix the line and reload; see [Errors in the "
                    + "configuration](Operations.md#errors-in-the-configuration).")
        case .configDegraded:
            Entry(
                "Running despite configuration errors",
                "The files have errors, so the daemon uses the configuration that `how=` describes.",
                "Fix the errors that are logged before this line, then reload. `issued --check` lists all of them.")
        case .configWarning:
            Entry(
                "Configuration warning",
                "A setting is valid but probably a mistake, such as a token that would be sent without TLS.",
                "Read `warning=` and correct the setting.")
        case .configApplyFailed:
            Entry(
                "Could not apply the configuration",
                "A reload failed after the files had been read.",
                "Read `error=` and reload again.")
        case .configCopyFailed:
            Entry(
                "Could not save a copy of the valid configuration",
                "The copy of the last valid configuration could not be written, so a later start can't fall back "
                    + "to it.",
                "Check the disk, and the permissions of the folder that `error=` names.")
        case .configNeedsRestart:
            Entry(
                "Changes of [Socket] and of the database path take effect after a restart",
                "A reload changed settings that can't be applied while the daemon runs.",
                "Restart the service when convenient.")
        case .configReloaded:
            Entry(
                "Configuration reloaded",
                "The configuration files were read again.",
                nil)

        // MARK: Start and stop

        case .daemonReady:
            Entry(
                "Ready",
                "The daemon has started: `socket=` takes reports, and `database=` stores them.",
                nil)
        case .daemonStopping:
            Entry(
                "Stopping",
                "The daemon was asked to stop. It first replies to the reports that it has received.",
                nil)
        case .daemonStopped:
            Entry(
                "Stopped",
                "The daemon has stopped.",
                nil)
        case .daemonFailed:
            Entry(
                "Daemon failed; exiting",
                "The daemon can't continue.",
                "Read `error=`, and look up the exit code in [Operations.md](Operations.md#exit-codes).")
        case .daemonTemporaryFolderTaken:
            Entry(
                "Temporary folder belongs to another user; set ISSUED_SOCKET for programs that report",
                "An ordinary user's daemon runs without `XDG_RUNTIME_DIR`, and another user owns the folder in "
                    + "`/tmp` that it would use.",
                "Set `XDG_RUNTIME_DIR` for the daemon, or `ISSUED_SOCKET` for programs that report.")
        case .daemonSendersNotReading:
            Entry(
                "Some senders do not read their receipts; stopping without them",
                "The daemon stops, and some clients did not read their replies in time. They send their reports "
                    + "again.",
                nil)
        case .daemonReadersLeft:
            Entry(
                "Some threads still read the database; stopping without them",
                "The daemon stops, and some queries or jobs did not end in time.",
                nil)

        // MARK: Database

        case .storeOpenFailed:
            Entry(
                "Could not open the database; retrying",
                "The database can't be opened. Until it can, reports are answered with `Busy`, and clients send "
                    + "them again.",
                "Read `error=`: check the disk, the permissions of the folder, and whether another daemon has "
                    + "the database open.")
        case .storeOpened:
            Entry(
                "Database opened",
                "The database could be opened after failed attempts.",
                nil)
        case .storeNoSpace:
            Entry(
                "No space left; refusing reports until there is",
                "The file system is full. Reports are answered with `NoSpace`, and clients send them again.",
                "Free space on the file system of the database; see [When something goes "
                    + "wrong](Operations.md#when-something-goes-wrong).")
        case .storeWriteFailed:
            Entry(
                "Could not store reports; asking senders to retry",
                "A commit failed. Clients keep their reports and send them again.",
                "Read `error=`: check the disk and the permissions of the folder.")
        case .storeWritable:
            Entry(
                "Storing reports again",
                "Commits succeed again after a failure.",
                nil)
        case .storeMaintenanceFailed:
            Entry(
                "Store maintenance failed; retrying later",
                "Old records could not be removed, a mute could not be ended, or the file could not be shrunk.",
                "Read `error=`; if it persists, check the disk.")
        case .storeRecordsExpired:
            Entry(
                "Removed the oldest records",
                "Retention removed records because of `reason=`; `expired=` of them had not been delivered. With "
                    + "`reason=age` and `expired=0` this is logged only with `Level=info`.",
                "If `expired=` is above 0, find out why a destination did not accept them. If `reason=free "
                    + "space`, find out what fills the disk.")
        case .storeRecordsThinned:
            Entry(
                "Removed old records of the most frequent issues",
                "Retention removed records of the user in `uid=`, who used the most space in the store.",
                "If `expired=` is above 0, find out why a destination did not accept them, and why that user "
                    + "reports so much.")
        case .storeDamaged:
            Entry(
                "Database is damaged; moving it aside and starting a new one",
                "The database file is corrupt. It is kept under another name, which `store.kept-database` logs.",
                "Check the disk, then run `issuectl repair`; see [Damage](Operations.md#damage).")
        case .storeUnusable:
            Entry(
                "Could not open the database; moving it aside and starting a new one",
                "The file can't be opened, although a new one in the same folder can.",
                "Read `error=`, such as `Permission denied` after a copy made as root; then run `issuectl repair`.")
        case .storeForeign:
            Entry(
                "Database belongs to another program or version; moving it aside and starting a new one",
                "The file at `Path=` was written by a newer daemon or by another program.",
                "Correct `Path=`, or install the newer version and restore the file.")
        case .storeReopened:
            Entry(
                "Could not read the database; reopening it",
                "A page could not be read, but a check of the file has found no damage. With `checked=in part` the "
                    + "check did not read the whole file, and the page may still be unreadable.",
                "Check the disk.")
        case .storeReplaced:
            Entry(
                "Database was removed or replaced; continuing with the file that is there now",
                "The database file was removed or replaced while the daemon was running. What the old file held "
                    + "is gone with it.",
                "Find out who did that.")
        case .storeWALOrphaned:
            Entry(
                "Database is missing but its WAL is not; moving the WAL aside and starting a new database",
                "The database was removed or emptied, and only its write-ahead log (WAL) was left.",
                "Find out who removed the database, and restore a backup.")
        case .storeWALMissing:
            Entry(
                "WAL of the database is missing; its commits are lost",
                "The WAL of a run that was killed has been removed. Everything committed since the last "
                    + "checkpoint is lost, including records with receipts.",
                "Find out who removed the WAL.")
        case .storeKeptDatabase:
            Entry(
                "Kept the old database",
                "The unusable database was renamed; `file=` is its new path.",
                "Run `issuectl repair`, then delete the file or move it away.")
        case .storeKeptWAL:
            Entry(
                "Kept the old WAL",
                "A WAL without its database was renamed; `file=` is its new path.",
                "Move it away; it can't be repaired.")
        case .storeMoveFailed:
            Entry(
                "Could not move a file aside",
                "An unusable file could not be renamed.",
                "Fix the permissions of the folder, or move the file away.")
        case .storeCheckpointFailed:
            Entry(
                "WAL checkpoint failed; retrying later",
                "The WAL could not be copied into the database, so it grows. Logged once per cause.",
                "Read `error=`; if it persists, check the disk and its free space.")
        case .storeWALQueriesInterrupted:
            Entry(
                "Interrupting queries that keep the WAL from being reset",
                "The WAL was near its limit, so queries that held a snapshot were interrupted. Logged at most "
                    + "once a minute.",
                nil)
        case .storeWALBlocked:
            Entry(
                "Could not reset the WAL; another program may be reading the database, or the disk is full",
                "The WAL is at its limit, and not because of the daemon's own queries; reports may be refused. "
                    + "Logged at most once a minute.",
                "Close programs that read the database, such as a `sqlite3` shell, or free space.")

        // MARK: Limits for users

        case .limitsTooManyNames:
            Entry(
                "User reports too many different names; combining the rest",
                "A user has reached the limit of `names=`: applications, senders, issues of an application, or "
                    + "variants of an issue. Logged once an hour.",
                "Look for an application that puts variable text into a name or a fingerprint, or raise the "
                    + "limit; see [RateLimits.md](RateLimits.md).")

        // MARK: Issues

        case .issueCritical:
            Entry(
                "Critical issue reported",
                "A critical record was stored.",
                "Look at the issue: `issuectl show` with `group=`.", messageID: "028cbaba609d444e9eacaff93d7fc324")
        case .issueRegressed:
            Entry(
                "Issue regressed",
                "An issue that was resolved, or muted until a newer version, was reported again.",
                "Look at the issue: `issuectl show` with `group=`.", messageID: "89cf0acd27954fb2a29f217da22b5afe")
        case .issueNew:
            Entry(
                "New issue reported",
                "An issue was reported for the first time.",
                "Look at the issue: `issuectl show` with `group=`.", messageID: "44e9b1ed9cb14818ac2f4c543c815253")
        case .issueSuppressedAlerts:
            Entry(
                "Too many issues to announce individually",
                "More issues were new, critical or regressed than are announced; `new=`, `critical=` and "
                    + "`regressed=` are the numbers.",
                "Use `issuectl list`, and find out why the users in `users=` report so much.",
                messageID: "1a05aa5480d64bee8e8386fe8013454c")

        // MARK: Forwarding

        case .forwardingStartFailed:
            Entry(
                "Could not start forwarding; retrying",
                "The threads of the destinations could not be started. Reports are accepted in the meantime.",
                "Read `error=`.")
        case .forwardingStarted:
            Entry(
                "Forwarding started",
                "Forwarding could be started after failed attempts.",
                nil)
        case .forwardingFailed:
            Entry(
                "Forwarding failed; retrying",
                "The store returned an error to the thread of a destination, which resumes from the stored state "
                    + "after 5 seconds.",
                "Read `error=`.")

        // MARK: Destinations

        case .destinationPaused:
            Entry(
                "Destination paused; records are kept until it is fixed",
                "The destination rejects the credential or the requests, or there is no credential.",
                "Follow `advice=`.", messageID: "74e83562eb804ea88d96a96eca8b26af")
        case .destinationUnreachable:
            Entry(
                "Destination unreachable; records are kept and retried",
                "No trusted connection to the destination can be made.",
                "Look up `reason=` under [States of a destination](Operations.md#states-of-a-destination); check "
                    + "network, DNS, TLS and proxy.", messageID: "74e83562eb804ea88d96a96eca8b26af")
        case .destinationUnavailable:
            Entry(
                "Destination unavailable; records are kept and retried",
                "The destination was reached but does not accept records.",
                "Look up `reason=` under [States of a destination](Operations.md#states-of-a-destination).",
                messageID: "74e83562eb804ea88d96a96eca8b26af")
        case .destinationAvailable:
            Entry(
                "Destination accepts records again",
                "The destination accepted records after an outage or pause, perhaps one before the daemon's last "
                    + "start.",
                nil, messageID: "74e83562eb804ea88d96a96eca8b26af")
        case .destinationCredentialFound:
            Entry(
                "Credential found",
                "A destination that was `paused: no_credential` resumes.",
                nil)
        case .destinationBatchFinished:
            Entry(
                "Batch finished",
                "Every record of a batch has its fate. Logged with `Level=info`.",
                nil)
        case .destinationDeadLetters:
            Entry(
                "Could not deliver records; they are kept as dead letters",
                "The destination rejected `count=` records permanently, or they could not be delivered within "
                    + "`RetryFor=`.",
                "Read `answer=` and `issuectl dead-letters`, fix the cause, and requeue them.")
        case .destinationPartiallyRejected:
            Entry(
                "Destination rejected unnamed records; the whole request is unconfirmed",
                "An OTLP receiver rejected `count=` of `of=` records without saying which.",
                "Read `answer=` and the log of the receiver.")

        // MARK: Connections

        case .socketTooManyConnections:
            Entry(
                "Too many connections; refusing new ones",
                "`MaxConnections=` is reached. `largest_uid=` is the user with the most connections; the "
                    + "ids of a container count as one user. Logged at most once a minute.",
                "Find out why that user opens so many connections, perhaps one for each report, or raise "
                    + "`MaxConnections=`.")
        case .socketConnectionsClosed:
            Entry(
                "Closing connections of the user with the most, to admit others",
                "At `MaxConnections=`, connections of the user in `uid=` are closed to admit other users. Their "
                    + "clients connect again. Logged at most once a minute.",
                "Find out why that user opens so many connections, or raise `MaxConnections=`.")
        case .socketMemoryLimit:
            Entry(
                "Connections use too much memory; closing the largest",
                "Partial messages or unread replies (`held=`) exceed their share of `MaxMemory=`. Logged at most "
                    + "once a minute.",
                "Look at the clients of `uid=`. If this load is intended, raise `MaxMemory=`.")
        case .socketAcceptFailed:
            Entry(
                "Could not accept a connection; retrying",
                "The daemon has no file descriptor or memory for another connection. New ones wait in the backlog.",
                "Raise `LimitNOFILE=` together with `MaxConnections=`.")
        case .socketAccepting:
            Entry(
                "Accepting connections again",
                "Connections are accepted again after a shortage.",
                nil)
        case .socketRecreated:
            Entry(
                "Socket file was removed; created it again",
                "The socket file was removed. Existing connections continue.",
                "Find out who removes it.")
        case .socketRecreateFailed:
            Entry(
                "Socket file was removed and could not be created again; retrying",
                "The socket file was removed and can't be created, so no client can connect.",
                "Read `error=`: check the permissions of the folder.")
        case .socketUnitRestartNeeded:
            Entry(
                "Socket file was removed; its unit must be restarted",
                "The socket file, which systemd had created, was removed, so no client can connect.",
                "Run `systemctl restart issued.socket`.")
        case .socketListenFailed:
            Entry(
                "Could not serve the new socket",
                "The event loop could not watch the new socket.",
                "Read `error=` and restart the daemon.")
        case .socketFailed:
            Entry(
                "Could not serve the socket; exiting",
                "The event loop of the socket failed.",
                "Read `error=`. The unit restarts the daemon.")

        // MARK: Queries

        case .queryThreadsFailed:
            Entry(
                "Could not start the query threads; refusing queries",
                "The host has no memory or process slot for the threads that answer queries. Clients are asked "
                    + "to retry.",
                "Read `error=`: check `MemoryMax=` and `TasksMax=` of the service.")
        case .queryTimeout:
            Entry(
                "Query took too long; cancelled it",
                "A query reached the limit of 10 seconds. The client is asked to retry.",
                "Use a narrower filter.")
        case .queryFailed:
            Entry(
                "Query failed; asking the client to retry",
                "The store returned an error to a query. If the database may be damaged, the daemon checks it.",
                "Read `error=`.")
        case .queryStatusFailed:
            Entry(
                "Could not read the figures for Status",
                "The figures for `issuectl status` could not be read.",
                "Read `error=`.")

        // MARK: Audit trail

        case .auditStateChanged:
            Entry(
                "Issue state changed",
                "An issue was resolved, muted or reopened by `uid=`, `pid=` and `command=`. For ordinary users, "
                    + "10 changes a minute each and 60 a minute in total are logged.",
                nil)
        case .auditStatesOmitted:
            Entry(
                "Users changed more issue states than are logged",
                "`left_out=` state changes of ordinary users were not logged.",
                "Find out who changes so many states.")
        case .auditRequestStarted:
            Entry(
                "Operator request started",
                "An operator requested `request=`: purge, backup, repair, requeue or flush. `parameters=` has "
                    + "no search text.",
                nil)
        case .auditRequestFinished:
            Entry(
                "Operator request finished",
                "The request has ended. `result=` is `done`, `given up` if the client disconnected or the daemon "
                    + "stopped, or the error.",
                "If it failed, repeat the command.")

        // MARK: Backup, purge, requeue

        case .jobFailed:
            Entry(
                "Job failed; it can be requested again",
                "A backup, purge, repair or requeue failed.",
                "Read `error=` and repeat the command.")
        case .jobNoSpace:
            Entry(
                "Not enough space for a copy of the database; making none",
                "A backup needs space for a copy, and so does the repair of a file whose table definitions are "
                    + "lost.",
                "Free space, so that at least `bytes=` in addition to `KeepFree=` are free, and repeat the command.")
        case .jobBackupFinished:
            Entry(
                "Backup finished",
                "A backup is complete; `file=` is its path.",
                nil)
        case .jobBackupLeftOver:
            Entry(
                "Could not remove the files of an unfinished backup",
                "A file named `issues.db.backup-TIME.unfinished` could not be removed.",
                "Read `error=` and delete the file.")
        case .jobPurged:
            Entry(
                "Records erased on request",
                "A purge erased `records=` records.",
                nil)
        case .jobRequeued:
            Entry(
                "Dead letters requeued on request",
                "`count=` dead letters are pending again.",
                nil)

        // MARK: Repair

        case .repairFinished:
            Entry(
                "Recovered the readable records of a set-aside database",
                "A repair stored `records=` records again; `unreadable=` could not be read.",
                nil)
        case .repairSchemaReplaced:
            Entry(
                "Table definitions of a set-aside database are lost; using those of a new one",
                "The repair reads a copy of the file with the table definitions of a new one.",
                nil)
        case .repairNoRecords:
            Entry(
                "No records of a set-aside database are readable; leaving it unchanged",
                "No record of the file could be read, or reading it did not end.",
                "See [Damage](Operations.md#damage), and move the file away.")
        case .repairUnreadable:
            Entry(
                "Set-aside database is unreadable; leaving it unchanged",
                "The file can't be opened at all.",
                "Read `error=`, and move the file away.")
        case .repairNotAFile:
            Entry(
                "Set-aside object is not a regular file; leaving it unchanged",
                "A pipe, folder or other object had been at `Path=` and was moved aside.",
                "Move it away.")
        }
    }
}
