import SQLiteKit

extension Schema {
    /// Tables for notifiers and silences.
    static let notifying: StaticString = """
        -- Changes of groups that some notifier has not examined yet: the record, and the bits of its kinds.
        CREATE TABLE alerts (
            record INTEGER PRIMARY KEY,
            uid INTEGER NOT NULL,
            kinds INTEGER NOT NULL
        ) STRICT;

        -- cursor is the last record whose change was examined. At every instant received = delivered + given_up +
        -- the sum of count in notices.
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

        -- Events that wait for a message (message is 0) or are in an unfinished one. Without record and text, count
        -- events of the user are only counted.
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
}
