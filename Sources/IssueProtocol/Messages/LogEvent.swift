/// A message of the diagnostic log, and its explanation for operators.
///
/// Documentation/Messages.md is generated from these values.
package struct LogEvent: Hashable, Sendable {
    /// The identifier at the end of the line (`id=store.no-space`). It is stable: scripts and monitoring filter by it,
    /// while a message may be reworded.
    package let id: String
    /// The constant text of the line.
    package let message: String
    /// The cause and the consequences, in Markdown.
    package let meaning: String
    /// The advice to the operator, in Markdown; nil if no action is needed.
    package let action: String?
    /// The `MESSAGE_ID=` of the journal entry, with which `journalctl -x` finds the explanation in the catalog. Several
    /// events may share one. By default, it is derived from the identifier.
    package let messageID: String

    private init(
        _ id: String, _ message: String, _ meaning: String, _ action: String? = nil, messageID: String? = nil
    ) {
        (self.id, self.message, self.meaning, self.action) = (id, message, meaning, action)
        self.messageID = messageID ?? MessageCatalog.messageID(of: id)
    }

    /// All messages, in the order of Documentation/Messages.md. Debug builds can't log a message that is missing here.
    package static let all: [LogEvent] = [
        configError, configDegraded, configWarning, configApplyFailed, configCopyFailed, configNeedsRestart,
        configReloaded, redactionKeyUnusable,
        daemonReady, daemonStopping, daemonStopped, daemonFailed, daemonTemporaryFolderTaken, daemonSendersNotReading,
        daemonReadersLeft,
        storeOpenFailed, storeOpened, storeNoSpace, storeWriteFailed, storeWritable, storeMaintenanceFailed,
        storeKeepFreeUnreachable,
        storeRecordsExpired, storeRecordsThinned, storeRegrouped, storeQuietResolved, storeDamaged, storeUnusable,
        storeForeign, storeReopened,
        storeReplaced, storeBlockDamaged, storeWALOrphaned, storeWALRemoved,
        storeCommitsLost, storeKeptDatabase, storeKeptWAL,
        storeMoveFailed,
        storeCheckpointFailed, storeWALQueriesInterrupted, storeWALBlocked,
        limitsTooManyNames,
        issueCritical, issueRegressed, issueNew, issueSuppressedAlerts,
        forwardingStartFailed, forwardingStarted, forwardingFailed,
        destinationPaused, destinationUnreachable, destinationUnavailable, destinationReasonChanged,
        destinationRejecting, destinationAvailable,
        destinationCredentialFound, destinationBatchFinished, destinationDeadLetters, destinationPartiallyRejected,
        destinationRemoved,
        notifierUnavailable, notifierAvailable, notifierGaveUp, notifierUnstored, notifierRemoved, notifierFailed,
        socketTooManyConnections, socketConnectionsClosed, socketMemoryLimit, socketAcceptFailed, socketAccepting,
        socketRecreated, socketRecreateFailed, socketUnitRestartNeeded, socketListenFailed, socketFailed,
        queryThreadsFailed, queryTimeout, queryFailed, queryStatusFailed,
        auditStateChanged, auditGroupingChanged, auditStatesOmitted, auditDeployed,
        auditDeploymentRemoved, auditRequestStarted,
        auditRequestFinished,
        jobFailed, jobNoSpace, jobBackupFinished, jobBackupDamaged, jobBackupUnchecked,
        jobBackupLeftOver, jobPurged, jobRequeued,
        repairFinished, repairSchemaReplaced, repairNoRecords, repairUnreadable, repairNotAFile,
    ]

    // MARK: Configuration

    package static let configError = LogEvent(
        "config.error", "Configuration error",
        "A configuration file has an error; `error=` names the file, the line and what is expected. At most ten "
            + "errors are logged individually.",
        "Fix the line and reload; see [Errors in the configuration](Operations.md#errors-in-the-configuration).")
    package static let configDegraded = LogEvent(
        "config.degraded", "Running despite configuration errors",
        "The files have errors, so the daemon uses the configuration that `how=` describes.",
        "Fix the errors that are logged before this line, then reload. `issued --check` lists all of them.")
    package static let configWarning = LogEvent(
        "config.warning", "Configuration warning",
        "A setting is valid but probably a mistake, such as a token that would be sent without TLS.",
        "Read `warning=` and correct the setting.")
    package static let configApplyFailed = LogEvent(
        "config.apply-failed", "Could not apply the configuration",
        "A reload failed after the files had been read.",
        "Read `error=` and reload again.")
    package static let configCopyFailed = LogEvent(
        "config.copy-failed", "Could not save a copy of the valid configuration",
        "The copy of the last valid configuration could not be written, so a later start can't fall back to it.",
        "Check the disk, and the permissions of the folder that `error=` names.")
    package static let configNeedsRestart = LogEvent(
        "config.needs-restart", "Changes of [Socket] and of the database path take effect after a restart",
        "A reload changed settings that can't be applied while the daemon runs.",
        "Restart the service when convenient.")
    package static let configReloaded = LogEvent(
        "config.reloaded", "Configuration reloaded",
        "The configuration files were read again.")

    package static let redactionKeyUnusable = LogEvent(
        "config.redaction-key-unusable", "Could not use the key for redacted values; masking them instead of hashing",
        "A rule of `[Redaction]` has the action `hash`, but the file with the key can't be read or created. The "
            + "rule's values are replaced by marks without a hash until the next start or reload.",
        "Read `error=`. If the key is damaged, remove it. The daemon then creates a new one, and earlier hashes "
            + "can no longer be compared with new ones.")

    // MARK: Start and stop

    package static let daemonReady = LogEvent(
        "daemon.ready", "Ready",
        "The daemon has started: it accepts reports at `socket=` and stores them in `database=`.")
    package static let daemonStopping = LogEvent(
        "daemon.stopping", "Stopping",
        "The daemon was asked to stop. It first replies to the reports that it has received.")
    package static let daemonStopped = LogEvent(
        "daemon.stopped", "Stopped",
        "The daemon has stopped.")
    package static let daemonFailed = LogEvent(
        "daemon.failed", "Daemon failed; exiting",
        "The daemon can't continue.",
        "Read `error=`, and look up the exit code in [Operations.md](Operations.md#exit-codes).")
    package static let daemonTemporaryFolderTaken = LogEvent(
        "daemon.tmp-folder-taken",
        "Temporary folder belongs to another user; set ISSUED_SOCKET for programs that report",
        "An ordinary user's daemon runs without `XDG_RUNTIME_DIR`, and another user owns the folder in `/tmp` that it "
            + "would use.",
        "Set `XDG_RUNTIME_DIR` for the daemon, or `ISSUED_SOCKET` for programs that report.")
    package static let daemonSendersNotReading = LogEvent(
        "daemon.senders-not-reading", "Some senders do not read their receipts; stopping without them",
        "The daemon stops, and some clients did not read their replies in time. They send their reports again.")
    package static let daemonReadersLeft = LogEvent(
        "daemon.readers-left", "Some threads still read the database; stopping without them",
        "The daemon stops, and some queries or jobs did not end in time.")

    // MARK: Database

    package static let storeOpenFailed = LogEvent(
        "store.open-failed", "Could not open the database; retrying",
        "The database can't be opened. Until it can, reports are answered with `Busy`, and clients send them again.",
        "Read `error=`: check the disk, the permissions of the folder, and whether another daemon has the database "
            + "open.")
    package static let storeOpened = LogEvent(
        "store.opened", "Database opened",
        "The database could be opened after failed attempts.")
    package static let storeNoSpace = LogEvent(
        "store.no-space", "No space left; refusing reports until there is",
        "The file system is full. Reports are answered with `NoSpace`, and clients send them again.",
        "Free space on the file system of the database; see [The disk "
            + "fills up](Operations.md#the-disk-fills-up).")
    package static let storeWriteFailed = LogEvent(
        "store.write-failed", "Could not store reports; asking senders to retry",
        "A commit failed. Clients keep their reports and send them again.",
        "Read `error=`: check the disk and the permissions of the folder.")
    package static let storeWritable = LogEvent(
        "store.writable", "Storing reports again",
        "Commits succeed again after a failure.")
    package static let storeMaintenanceFailed = LogEvent(
        "store.maintenance-failed", "Store maintenance failed; retrying later",
        "Old records could not be removed, a mute could not be ended, or the file could not be shrunk.",
        "Read `error=`; if it persists, check the disk.")
    package static let storeKeepFreeUnreachable = LogEvent(
        "store.keep-free-unreachable", "KeepFree= can't be met because other files fill the disk",
        "Removing all records would not free enough space for `KeepFree=`, so none are removed for it. `free=` is the "
            + "free space and `database=` the used part of the database, in bytes.",
        "Free space on the file system of the database, or lower `KeepFree=` if it is above its minimum.")
    package static let storeRecordsExpired = LogEvent(
        "store.records-expired", "Removed the oldest records",
        "Retention removed records because of `reason=`; `expired=` of them had not been delivered. With `reason=age` "
            + "and `expired=0` this is logged only with `Level=info`. Logged at most once a minute for each reason, with "
            + "the sums.",
        "If `expired=` is above 0, find out why a destination did not accept them. If `reason=free space`, find out "
            + "what fills the disk.")
    package static let storeRecordsThinned = LogEvent(
        "store.records-thinned", "Removed old records of frequent issues",
        "Retention removed records of the user in `uid=`, who used the most space in the store. Logged at most once "
            + "a minute for each user and reason, with the sums.",
        "If `expired=` is above 0, find out why a destination did not accept them, and why that user sends this many "
            + "reports.")
    package static let storeRegrouped = LogEvent(
        "store.regrouped", "Moved issues to the new fingerprint rule",
        "After an upgrade, `changed=` issues got a new fingerprint, and `merged=` were merged into others. Their ids, "
            + "counts and states remain.")
    package static let storeQuietResolved = LogEvent(
        "store.quiet-resolved", "Resolved issues that have not occurred for a while",
        "`issues=` open issues had no record for `ResolveAfter=`. The next record of one of them is a regression.")
    package static let storeDamaged = LogEvent(
        "store.damaged", "Database is damaged; moving it aside and starting a new one",
        "The database file is corrupt. It is kept under another name, which `store.kept-database` logs.",
        "Check the disk, then run `issuectl repair`; see [The database is "
            + "damaged](Operations.md#the-database-is-damaged).")
    package static let storeUnusable = LogEvent(
        "store.unusable", "Could not open the database; moving it aside and starting a new one",
        "The file can't be opened, although a new one in the same folder can.",
        "Read `error=`, such as `Permission denied` after a copy made as root; then run `issuectl repair`.")
    package static let storeForeign = LogEvent(
        "store.foreign", "Database belongs to another program or version; moving it aside and starting a new one",
        "The file at `Path=` was written by a newer daemon, by one so old that its database can't be upgraded, or by "
            + "another program.",
        "Correct `Path=`; or install the newer version and restore the file; or run `issuectl repair`, which recovers "
            + "the records of an old database.")
    package static let storeReopened = LogEvent(
        "store.reopened", "Could not read the database; reopening it",
        "A page could not be read, but a check of the file has found no damage. With `checked=in part` the check did "
            + "not read the whole file, and the page may still be unreadable.",
        "Check the disk.")
    package static let storeReplaced = LogEvent(
        "store.replaced", "Database was removed or replaced; continuing with the file that is there now",
        "The database file was removed or replaced while the daemon was running. Records that were only in the old "
            + "file are lost.",
        "Find out who removed or replaced it, and restore a backup if you have one.")
    package static let storeBlockDamaged = LogEvent(
        "store.block-damaged", "Block of records in the database is damaged; its records are unreadable",
        "The checksum of a block is wrong, so its records are left out of all queries. Other blocks are not affected. "
            + "The records stay in counts, and those that were not forwarded yet become `expired`. `first=` is the "
            + "lowest row id in the block, and `records=` the number of its records. Logged once for each block.",
        "See [A block is damaged](Operations.md#a-block-is-damaged).")
    package static let storeWALOrphaned = LogEvent(
        "store.wal-orphaned",
        "Database is missing but its WAL is not; moving the WAL aside and starting a new database",
        "The database was removed or emptied, and only its write-ahead log (WAL) was left.",
        "Find out who removed the database, and restore a backup.")
    package static let storeWALRemoved = LogEvent(
        "store.wal-removed", "WAL of the open database was removed or replaced; copying it into the database",
        "The write-ahead log (WAL) contains the latest commits. The daemon still has it open, so nothing is lost. With "
            + "`copied=in part`, another program that reads the database, or a failure of the disk, has prevented "
            + "copying: reports are refused, and the daemon tries again.",
        "Find out who removed the file: nothing but the daemon may change the files of the database.")
    package static let storeCommitsLost = LogEvent(
        "store.commits-lost", "WAL of the database is missing or damaged; commits in it are lost",
        "The WAL of a run that was killed has been removed, truncated or damaged. All commits after its readable "
            + "part are lost, including records with receipts. New records get a new store code in their ids, so no "
            + "lost id is reused.",
        "Find out what happened to the file, and check the disk.")
    package static let storeKeptDatabase = LogEvent(
        "store.kept-database", "Kept the old database",
        "The unusable database was renamed; `file=` is its new path.",
        "Run `issuectl repair`, then delete the file or move it away.")
    package static let storeKeptWAL = LogEvent(
        "store.kept-wal", "Kept the old WAL",
        "A WAL without its database was renamed; `file=` is its new path.",
        "Move it away; it can't be repaired.")
    package static let storeMoveFailed = LogEvent(
        "store.move-failed", "Could not move a file aside",
        "An unusable file could not be renamed.",
        "Fix the permissions of the folder, or move the file away.")
    package static let storeCheckpointFailed = LogEvent(
        "store.checkpoint-failed", "WAL checkpoint failed; retrying later",
        "The WAL could not be copied into the database, so it grows. Logged once per cause.",
        "Read `error=`; if it persists, check the disk and its free space.")
    package static let storeWALQueriesInterrupted = LogEvent(
        "store.wal-queries-interrupted", "Interrupting queries that keep the WAL from being reset",
        "The WAL was near its limit, so queries that held a snapshot were interrupted. Logged at most once a minute.")
    package static let storeWALBlocked = LogEvent(
        "store.wal-blocked",
        "Could not reset the WAL; another program may be reading the database, or the disk is full",
        "The WAL is at its limit, and not because of the daemon's own queries; reports may be refused. Logged at most "
            + "once a minute.",
        "Close programs that read the database, such as a `sqlite3` shell, or free space.")

    // MARK: Limits for users

    package static let limitsTooManyNames = LogEvent(
        "limits.too-many-names", "User reports too many different names; combining the rest",
        "A user has reached the limit of `names=`: applications, senders, or, in one application, issues or variants of "
            + "issues. Logged at most once an hour for each user and limit.",
        "Look for an application that puts variable text into a name or a fingerprint, or raise the limit; see "
            + "[RateLimits.md](RateLimits.md).")

    // MARK: Issues

    package static let issueCritical = LogEvent(
        "issue.critical", "Critical issue reported",
        "A critical record was stored.",
        "Look at the issue: `issuectl show` with `group=`.",
        messageID: "028cbaba609d444e9eacaff93d7fc324")
    package static let issueRegressed = LogEvent(
        "issue.regressed", "Issue regressed",
        "An issue that was resolved, or muted until a newer version or a number of occurrences, was reported again.",
        "Look at the issue: `issuectl show` with `group=`.",
        messageID: "89cf0acd27954fb2a29f217da22b5afe")
    package static let issueNew = LogEvent(
        "issue.new", "New issue reported",
        "An issue was reported for the first time.",
        "Look at the issue: `issuectl show` with `group=`.",
        messageID: "44e9b1ed9cb14818ac2f4c543c815253")
    package static let issueSuppressedAlerts = LogEvent(
        "issue.suppressed-alerts", "Too many issues to announce individually",
        "There were more new issues, critical records and regressions than are announced; `new=`, `critical=` and "
            + "`regressed=` are the numbers of those that were not announced.",
        "Use `issuectl list`, and find out why the users in `users=` send this many reports.",
        messageID: "1a05aa5480d64bee8e8386fe8013454c")

    // MARK: Forwarding

    package static let forwardingStartFailed = LogEvent(
        "forwarding.start-failed", "Could not start forwarding; retrying",
        "The threads of the destinations could not be started. Reports are accepted in the meantime.",
        "Read `error=`.")
    package static let forwardingStarted = LogEvent(
        "forwarding.started", "Forwarding started",
        "Forwarding could be started after failed attempts.")
    package static let forwardingFailed = LogEvent(
        "forwarding.failed", "Forwarding failed; retrying",
        "The store returned an error to the thread of a destination, which resumes from the stored state after 5 "
            + "seconds, or up to a minute if it fails repeatedly.",
        "Read `error=`.")

    // MARK: Destinations

    package static let destinationPaused = LogEvent(
        "destination.paused", "Destination paused; records are kept until it is fixed",
        "The destination rejects the credential or the requests, or there is no credential.",
        "Follow `advice=`.",
        messageID: "74e83562eb804ea88d96a96eca8b26af")
    package static let destinationUnreachable = LogEvent(
        "destination.unreachable", "Destination unreachable; records are kept and retried",
        "No trusted connection to the destination can be made.",
        "Run `issuectl explain` with the value of `reason=`; check network, DNS, TLS and proxy.",
        messageID: "74e83562eb804ea88d96a96eca8b26af")
    package static let destinationUnavailable = LogEvent(
        "destination.unavailable", "Destination unavailable; records are kept and retried",
        "The destination was reached but does not accept records.",
        "Run `issuectl explain` with the value of `reason=`.",
        messageID: "74e83562eb804ea88d96a96eca8b26af")
    package static let destinationReasonChanged = LogEvent(
        "destination.reason-changed", "Destination still unavailable, for another reason",
        "The destination fails for another reason than `before=`. At most ten outages and changes an hour are logged; "
            + "`left_out=` is the number of those not logged since the last entry.",
        "Run `issuectl explain` with the value of `reason=`.",
        messageID: "74e83562eb804ea88d96a96eca8b26af")
    package static let destinationRejecting = LogEvent(
        "destination.rejecting", "Destination reached again, but it rejects every record",
        "After an outage or pause, the destination rejected all records of a batch, which are dead letters now.",
        "Read `answer=`; `issuectl dead-letters` lists the records.",
        messageID: "74e83562eb804ea88d96a96eca8b26af")
    package static let destinationAvailable = LogEvent(
        "destination.available", "Destination accepts records again",
        "The destination accepted records after an outage or pause, which may have begun before the daemon's last "
            + "start. `lasted=` is its duration, absent if it began before the start. `pending=` is the number of "
            + "records and corrections that must still be examined, including records that were removed meanwhile.",
        messageID: "74e83562eb804ea88d96a96eca8b26af")
    package static let destinationCredentialFound = LogEvent(
        "destination.credential-found", "Credential found",
        "A destination that was `paused: no_credential` resumes.")
    package static let destinationBatchFinished = LogEvent(
        "destination.batch-finished", "Batch finished",
        "Every record of a batch has its fate. Logged with `Level=info`.")
    package static let destinationDeadLetters = LogEvent(
        "destination.dead-letters", "Could not deliver records; they are kept as dead letters",
        "`count=` records, summaries or corrections were given up: the destination rejected them permanently or did not "
            + "respond to them repeatedly, they were too large, or `RetryFor=` has elapsed.",
        "Read `answer=` and `issuectl dead-letters`, fix the cause, and requeue them.")
    package static let destinationPartiallyRejected = LogEvent(
        "destination.partially-rejected",
        "Destination rejected records without naming them; the whole request is unconfirmed",
        "An OTLP receiver rejected `count=` of `of=` records and did not name them.",
        "Read `answer=` and the log of the receiver.")
    package static let destinationRemoved = LogEvent(
        "destination.removed", "Destination is no longer configured",
        "The section of `destination=` was removed or renamed. The `pending=` records that waited to be sent there are "
            + "not sent to any other destination, and expire when retention removes them.",
        "If the records are to be sent, restore the name of the section, and run `issuectl flush` before you rename it "
            + "again; see [Remove or rename a destination](Operations.md#remove-or-rename-a-destination).")

    // MARK: Notifiers

    package static let notifierUnavailable = LogEvent(
        "notifier.unavailable", "Could not send a notification; retrying",
        "A webhook or command did not accept a message. It is retried for `RetryFor=`. Logged once per outage.",
        "Read `answer=`; check the URL, the credential and the network, or the program; then run `issuectl notify "
            + "test`.")
    package static let notifierAvailable = LogEvent(
        "notifier.available", "Notifications are accepted again",
        "A webhook or command has accepted a message after a failure.")
    package static let notifierGaveUp = LogEvent(
        "notifier.gave-up", "Could not deliver a notification; giving it up",
        "A webhook or command refused a message permanently, or did not accept it within `RetryFor=`. `events=` is the "
            + "number of events in it.",
        "Read `answer=`, look at the new issues with `issuectl list`, and fix the webhook or the program.")
    package static let notifierUnstored = LogEvent(
        "notifier.unstored", "Sending a notification that could not be stored",
        "The store could not take an event, so its message is sent without being stored. `answer=` is the result of "
            + "the first or of the last attempt; a failed attempt is repeated.",
        "Fix the store; see the messages before this one.")
    package static let notifierRemoved = LogEvent(
        "notifier.removed", "Notifier is no longer configured; giving up its pending events",
        "The section `[Notify NAME]` of `notifier=` was removed or renamed while `events=` events waited to be sent. "
            + "They are not sent, even if the section is added again.",
        "Look at the new issues with `issuectl list`.")
    package static let notifierFailed = LogEvent(
        "notifier.failed", "Notifier failed; retrying",
        "The store returned an error to the thread of a notifier, or the thread could not be started. "
            + "The notifier is started again and continues from the stored state.",
        "Read `error=`.")

    // MARK: Connections

    package static let socketTooManyConnections = LogEvent(
        "socket.too-many-connections", "Too many connections; refusing new ones",
        "`MaxConnections=` is reached. `largest_uid=` is the user with the most connections; the ids of a container "
            + "count as one user. Logged at most once a minute.",
        "Find out why that user opens this many connections, perhaps one for each report, or raise `MaxConnections=`.")
    package static let socketConnectionsClosed = LogEvent(
        "socket.connections-closed", "Closing connections of the user with the most, to admit others",
        "At `MaxConnections=`, connections of the user in `uid=` are closed to admit those of other users. Their "
            + "clients connect again. Logged at most once a minute.",
        "Find out why that user opens this many connections, or raise `MaxConnections=`.")
    package static let socketMemoryLimit = LogEvent(
        "socket.memory-limit", "Connections use too much memory; closing the largest",
        "Partial messages or unread replies (`held=`) exceed their share of `MaxMemory=`. Logged at most once a "
            + "minute.",
        "Look at the clients of `uid=`. If this load is intended, raise `MaxMemory=`.")
    package static let socketAcceptFailed = LogEvent(
        "socket.accept-failed", "Could not accept a connection; retrying",
        "The daemon has no file descriptor or memory for another connection. New connections wait in the kernel's "
            + "queue.",
        "Raise `LimitNOFILE=` together with `MaxConnections=`.")
    package static let socketAccepting = LogEvent(
        "socket.accepting", "Accepting connections again",
        "Connections are accepted again after a shortage.")
    package static let socketRecreated = LogEvent(
        "socket.recreated", "Socket file was removed; created it again",
        "The socket file was removed. Existing connections continue.",
        "Find out who removes it.")
    package static let socketRecreateFailed = LogEvent(
        "socket.recreate-failed", "Socket file was removed and could not be created again; retrying",
        "The socket file was removed and can't be created, so no client can connect.",
        "Read `error=`: check the permissions of the folder.")
    package static let socketUnitRestartNeeded = LogEvent(
        "socket.unit-restart-needed", "Socket file was removed; its unit must be restarted",
        "The socket file, which systemd had created, was removed, so no client can connect.",
        "Run `systemctl restart issued.socket`.")
    package static let socketListenFailed = LogEvent(
        "socket.listen-failed", "Could not serve the new socket",
        "The event loop could not watch the new socket.",
        "Read `error=` and restart the daemon.")
    package static let socketFailed = LogEvent(
        "socket.failed", "Could not serve the socket; exiting",
        "The event loop of the socket failed.",
        "Read `error=`. The unit restarts the daemon.")

    // MARK: Queries

    package static let queryThreadsFailed = LogEvent(
        "query.threads-failed", "Could not start the query threads; refusing queries",
        "The host has no memory or process slot for the threads that answer queries. Clients are asked to retry.",
        "Read `error=`: check `MemoryMax=` and `TasksMax=` of the service.")
    package static let queryTimeout = LogEvent(
        "query.timeout", "Query took too long; cancelled it",
        "A query reached the limit of 10 seconds. The client gets `Busy` with the reason `too_slow`.",
        "Use a narrower filter.")
    package static let queryFailed = LogEvent(
        "query.failed", "Query failed; asking the client to retry",
        "The store returned an error to a query. If the database may be damaged, the daemon checks it.",
        "Read `error=`.")
    package static let queryStatusFailed = LogEvent(
        "query.status-failed", "Could not read the figures for Status",
        "The figures for `issuectl status` could not be read.",
        "Read `error=`.")

    // MARK: Audit trail

    package static let auditStateChanged = LogEvent(
        "audit.state-changed", "Issue state changed",
        "An issue was resolved, muted or reopened by `uid=`, `pid=` and `command=`. `until=`, `until_count=` or "
            + "`until_newer_version=` is the end of a mute; `resolved_in=` is the version with the fix, and "
            + "`resolved_in_next=` means the next deployed version. For ordinary users, 10 changes a minute each and 60 "
            + "a minute in total are logged.")
    package static let auditGroupingChanged = LogEvent(
        "audit.grouping-changed", "Issue grouping changed",
        "Issues were merged or split, or a correction was undone, by `uid=`, `pid=` and `command=`. `issuectl group "
            + "undo` takes the numbers in `corrections=`; `issuectl group rule` lists all corrections. The limits of "
            + "`audit.state-changed` include these lines."
    )
    package static let auditStatesOmitted = LogEvent(
        "audit.states-omitted", "Users made more changes to issues than are logged",
        "`left_out=` changes of states, of the grouping and of deployments by ordinary users were not logged.",
        "Find out who makes this many changes.")
    package static let auditDeployed = LogEvent(
        "audit.deployed", "Deployment declared",
        "`uid=` declared that `version=` of `app=` was deployed. `user=` is the user of the application, or `all`. "
            + "Limited like `audit.state-changed`.")
    package static let auditDeploymentRemoved = LogEvent(
        "audit.deployment-removed", "Deployment removed",
        "`uid=` removed the declared deployment of `version=` of `app=`. `user=` is the user of the application, or "
            + "`all`. Limited like `audit.state-changed`.")
    package static let auditRequestStarted = LogEvent(
        "audit.request-started", "Operator request started",
        "An operator requested `request=`: purge, backup, repair, requeue, flush, test_notifier, add_silence or "
            + "end_silence. `parameters=` has no search text.")
    package static let auditRequestFinished = LogEvent(
        "audit.request-finished", "Operator request finished",
        "The request has ended. `result=` is `done` (followed by the id of a new silence), `not delivered` (followed "
            + "by the answer) for a test message that failed, `given up` if the client disconnected or the daemon "
            + "stopped, `timed out` for a flush that did not finish in time, or the error.",
        "If it failed, repeat the command.")

    // MARK: Backup, purge and requeue

    package static let jobFailed = LogEvent(
        "job.failed", "Job failed; it can be requested again",
        "A backup, purge, repair or requeue failed.",
        "Read `error=` and repeat the command. If permission is denied, give the service's user, `issued` by default, "
            + "write access to the folder of the database.")
    package static let jobNoSpace = LogEvent(
        "job.no-space", "Not enough free space to copy the database",
        "A backup needs space for a copy, and so does the repair of a file whose table definitions are lost.",
        "Free space, so that at least `bytes=` in addition to `KeepFree=` are free, and repeat the command.")
    package static let jobBackupFinished = LogEvent(
        "job.backup-finished", "Backup finished",
        "A backup is complete; `file=` is its path. `unreadable=` is the number of records in damaged blocks, "
            + "which are also damaged in the copy.",
        "If `unreadable=` is not 0, see [A block is damaged](Operations.md#a-block-is-damaged), and keep older "
            + "backups."
    )
    package static let jobBackupDamaged = LogEvent(
        "job.backup-damaged", "Backup has damaged pages",
        "SQLite found damaged pages in a copy. `database=damaged` states that the database has some, too; with "
            + "`unknown`, that could not be checked. With `intact`, the copy was removed; make another one.",
        "Check the disk, and keep older backups. To recover what is readable of a damaged database, stop the daemon, "
            + "rename `issues.db` to `issues.db.damaged-TIME` with its WAL, start the daemon, and run "
            + "`issuectl repair`.")
    package static let jobBackupUnchecked = LogEvent(
        "job.backup-unchecked", "Could not check all of a backup",
        "The backup has been made, but its pages and blocks could not all be read, so the database may be damaged.",
        "Read `error=`, check the disk, and keep older backups.")
    package static let jobBackupLeftOver = LogEvent(
        "job.backup-left-over", "Could not remove the files of an unfinished backup",
        "A file named `issues.db.backup-TIME.unfinished` could not be removed.",
        "Read `error=` and delete the file.")
    package static let jobPurged = LogEvent(
        "job.purged", "Records erased on request",
        "A purge erased `records=` records.")
    package static let jobRequeued = LogEvent(
        "job.requeued", "Dead letters requeued on request",
        "`count=` dead letters are pending again.")

    // MARK: Repair

    package static let repairFinished = LogEvent(
        "repair.finished", "Recovered the readable records of a set-aside database",
        "A repair stored `records=` records again; `unreadable=` could not be read. `at least` means that more "
            + "may be lost: the tables with the number of records are damaged, too, or records had been purged.")
    package static let repairSchemaReplaced = LogEvent(
        "repair.schema-replaced", "Table definitions of a set-aside database are lost; using those of a new one",
        "The repair reads a copy of the file with the table definitions of a new one.")
    package static let repairNoRecords = LogEvent(
        "repair.no-records", "No records of a set-aside database are readable; leaving it unchanged",
        "No record of the file could be read, or reading it took too long.",
        "See [The database is damaged](Operations.md#the-database-is-damaged), and move the file away.")
    package static let repairUnreadable = LogEvent(
        "repair.unreadable", "Set-aside database is unreadable; leaving it unchanged",
        "The file can't be opened at all.",
        "Read `error=`, and move the file away.")
    package static let repairNotAFile = LogEvent(
        "repair.not-a-file", "Set-aside object is not a regular file; leaving it unchanged",
        "A pipe, folder or other object had been at `Path=` and was moved aside.",
        "Move it away.")
}
