/// The changes of the schema since version 9, in order.
extension Schema {
    /// The table of deployments. For each account, it gets observed deployments of up to 128 versions that were
    /// reported before this migration: those with the latest first reports.
    static let deployments: StaticString = """
        -- Versions of applications that were put into use. A row without uid applies to the application of this name of
        -- every user. An observed row is inserted when the first report of a version arrives, at its time of receipt.
        CREATE TABLE deployments (
            id INTEGER PRIMARY KEY,
            app TEXT NOT NULL,
            uid INTEGER,
            version TEXT NOT NULL,
            at INTEGER NOT NULL,
            observed INTEGER NOT NULL,
            revision TEXT,
            note TEXT,
            author INTEGER
        ) STRICT;
        CREATE INDEX deployments_by_app ON deployments (app, at);

        INSERT INTO deployments (app, uid, version, at, observed)
        WITH known (app, uid, version, at) AS (
            SELECT accounts.app, accounts.uid,
                   CASE WHEN build IS NULL THEN version
                        WHEN coalesce(version, '') = '' THEN '(' || build || ')'
                        ELSE version || ' (' || build || ')' END,
                   min(series.first_at)
            FROM series JOIN accounts ON accounts.id = series.account
            WHERE series.key <> x''
            GROUP BY series.account, version, build
        )
        SELECT app, uid, version, at, 1 FROM (
            SELECT *, row_number() OVER (PARTITION BY app, uid ORDER BY at DESC) AS place FROM known
            WHERE length(CAST(version AS BLOB)) BETWEEN 1 AND 128 AND length(CAST(app AS BLOB)) <= 256
        ) WHERE place <= 128 ORDER BY at;
        """

    /// The versions that fix issues.
    static let fixes: StaticString = """
        -- The version that has the fix of a resolved issue, if only this version or a later one reopens it.
        ALTER TABLE groups ADD COLUMN fixed_version TEXT;
        -- The time at which an issue was resolved in the next deployment; NULL once that is declared.
        ALTER TABLE groups ADD COLUMN fixed_after INTEGER;
        CREATE INDEX groups_by_fix ON groups (fixed_after) WHERE fixed_after IS NOT NULL;
        """

    /// Columns and tables for moving series between groups. `groups.merged_into` existed before, and was always NULL.
    static let grouping: StaticString = """
        -- The correction that merged the group; NULL if a change of the fingerprint rule did, or if it is not merged.
        ALTER TABLE groups ADD COLUMN merged_by INTEGER;
        CREATE INDEX groups_by_target ON groups (merged_into) WHERE merged_into IS NOT NULL;

        -- The group that has the fingerprint of the series; NULL if it is the same as "group".
        ALTER TABLE series ADD COLUMN home INTEGER;
        CREATE INDEX series_by_home ON series (home) WHERE home IS NOT NULL;

        -- The group that a series belonged to up to row last_id. To these rows, the limits, summaries and mutes of this
        -- group apply.
        CREATE TABLE moves (
            series INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            "group" INTEGER NOT NULL,
            PRIMARY KEY (series, last_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX moves_by_row ON moves (last_id);

        -- Merges, splits and rules of users. Kind 1 merges the group `source` into the group `target`; kind 2 moves the
        -- series of `source` that match `pattern` to the group `target`; kind 3 is a rule, which merges each group
        -- whose title matches `pattern` into `target`, and whose `source` is also `target`.
        CREATE TABLE corrections (
            id INTEGER PRIMARY KEY,
            account INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            source INTEGER NOT NULL,
            target INTEGER NOT NULL,
            pattern TEXT,
            author INTEGER NOT NULL,
            at INTEGER NOT NULL,
            reason TEXT NOT NULL,
            -- The number of series that it has moved since.
            hits INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX corrections_by_source ON corrections (source);
        CREATE INDEX corrections_by_account ON corrections (account);
        """

    /// Mutes that end after a number of occurrences.
    static let countdowns: StaticString = """
        -- The number of further occurrences after which a mute ends; NULL if their number does not end it.
        ALTER TABLE groups ADD COLUMN muted_left INTEGER;
        """

    /// Tables for notifiers and silences.
    static let notifying: StaticString = """
        -- Changes of groups that at least one notifier has not examined yet. `record` caused the change; `kinds` is a
        -- bit set.
        CREATE TABLE alerts (
            record INTEGER PRIMARY KEY,
            uid INTEGER NOT NULL,
            kinds INTEGER NOT NULL
        ) STRICT;

        -- cursor is the last record whose change was examined. After each transaction, received = delivered + given_up
        -- + the sum of count in notices.
        CREATE TABLE notifiers (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            active INTEGER NOT NULL DEFAULT 1,
            cursor INTEGER NOT NULL,
            received INTEGER NOT NULL DEFAULT 0,
            delivered INTEGER NOT NULL DEFAULT 0,
            given_up INTEGER NOT NULL DEFAULT 0,
            silenced INTEGER NOT NULL DEFAULT 0,
            messages INTEGER NOT NULL DEFAULT 0,
            repeated INTEGER NOT NULL DEFAULT 0,
            last_answer TEXT,
            last_success INTEGER
        ) STRICT;

        -- Events that wait for a message (message is 0) or are in an unfinished one. A row without record and text
        -- stands for `count` events of the user that are only counted.
        CREATE TABLE notices (
            id INTEGER PRIMARY KEY,
            notifier INTEGER NOT NULL,
            message INTEGER NOT NULL DEFAULT 0,
            kinds INTEGER NOT NULL,
            record INTEGER,
            uid INTEGER,
            count INTEGER NOT NULL DEFAULT 1,
            text TEXT,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX notices_by_message ON notices (notifier, message);

        -- Messages and their fates: 0 pending, 1 delivered, 2 given up. An attempt is counted before it is made.
        -- maybe_sent: an attempt without a known result may have reached the receiver.
        CREATE TABLE messages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            notifier INTEGER NOT NULL,
            at INTEGER NOT NULL,
            events INTEGER NOT NULL,
            state INTEGER NOT NULL DEFAULT 0,
            attempts INTEGER NOT NULL DEFAULT 1,
            maybe_sent INTEGER NOT NULL DEFAULT 1,
            settled_at INTEGER
        ) STRICT;
        CREATE INDEX messages_by_state ON messages (notifier, state, id);

        -- The lists are JSON arrays of strings.
        CREATE TABLE silences (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            apps TEXT NOT NULL,
            environments TEXT NOT NULL,
            units TEXT NOT NULL,
            groups TEXT NOT NULL,
            until INTEGER NOT NULL,
            reason TEXT NOT NULL,
            uid INTEGER NOT NULL,
            at INTEGER NOT NULL,
            count INTEGER NOT NULL DEFAULT 0,
            -- The user who ended it early.
            ended_by INTEGER
        ) STRICT;
        """

    /// The counts of occurrences for the event `escalated`.
    static let escalations: StaticString = """
        -- The last record whose occurrences were counted; NULL if the notifier counts none.
        ALTER TABLE notifiers ADD COLUMN counted INTEGER;

        -- counts: the occurrences of a group in the slot with the number `slot` and in those before it, separated by
        -- blanks. slot_length is in milliseconds; times are log times.
        CREATE TABLE escalations (
            notifier INTEGER NOT NULL,
            "group" INTEGER NOT NULL,
            uid INTEGER NOT NULL,
            slot_length INTEGER NOT NULL,
            slot INTEGER NOT NULL,
            counts TEXT NOT NULL,
            reported_at INTEGER,
            PRIMARY KEY (notifier, "group")
        ) STRICT, WITHOUT ROWID;
        """

    /// Indexes that make the time for one user's corrections and deployments independent of the number that other users
    /// have.
    static let boundedWork: StaticString = """
        CREATE INDEX groups_by_correction ON groups (merged_by) WHERE merged_by IS NOT NULL;
        CREATE INDEX moves_by_group ON moves ("group");
        CREATE INDEX deployments_by_user ON deployments (uid, observed, at);
        """

    /// The last change of a group's state by a user.
    static let stateChanges: StaticString = """
        -- The user who set the state, the time, and their note; NULL if no user has set it since it last changed
        -- automatically.
        ALTER TABLE groups ADD COLUMN changed_by INTEGER;
        ALTER TABLE groups ADD COLUMN changed_at INTEGER;
        ALTER TABLE groups ADD COLUMN change_note TEXT;
        """

    /// The events about corrections, and each destination's cursor in them.
    static let correctionEvents: StaticString = """
        -- One row per correction that was made or, if undone is 1, undone. A row of kind 3 without source is a rule;
        -- with source, it is a group that the rule has merged. destinations.corrections_id is the last event that was
        -- examined for a destination.
        CREATE TABLE correction_events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            account INTEGER NOT NULL,
            correction INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            undone INTEGER NOT NULL,
            source INTEGER,
            target INTEGER NOT NULL,
            pattern TEXT,
            author INTEGER NOT NULL,
            at INTEGER NOT NULL,
            reason TEXT NOT NULL
        ) STRICT;
        CREATE INDEX correction_events_by_number ON correction_events (correction);
        CREATE INDEX correction_events_by_account ON correction_events (account, at);
        CREATE INDEX correction_events_by_source ON correction_events (source);
        CREATE INDEX correction_events_by_target ON correction_events (target);
        ALTER TABLE destinations ADD COLUMN corrections_id INTEGER NOT NULL DEFAULT 0;

        -- For a line about a correction (`reason` is 'correction'): the other group of the correction.
        ALTER TABLE summaries ADD COLUMN other INTEGER;
        """

    /// The blocks that were found damaged, and the records that were recovered from other databases.
    static let damage: StaticString = """
        -- Blocks that cannot be decoded. Their records refer to no series or process with a higher id than last_series
        -- and last_process. After a block is removed, its row here is deleted at the next start.
        CREATE TABLE damaged_blocks (
            first_id INTEGER PRIMARY KEY,
            last_series INTEGER NOT NULL,
            last_process INTEGER NOT NULL
        ) STRICT;

        -- Records that `repair` has recovered, as spans of rows in the store that received them. `code` is its code.
        CREATE TABLE recovered (
            code INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            last_id INTEGER NOT NULL,
            PRIMARY KEY (code, first_id)
        ) STRICT, WITHOUT ROWID;
        """
}
