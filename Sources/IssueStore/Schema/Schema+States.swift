extension Schema {
    /// What somebody says of groups, and which records that befalls.
    static let states: StaticString = """
        -- The record that has opened the group again last; it goes ahead as the first of a group does. In muted_version
        -- stands the newest version of the application when its state was set, where only a newer one undoes it.
        ALTER TABLE groups ADD COLUMN regression INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX groups_by_mute ON groups (muted_until) WHERE muted_until IS NOT NULL;

        -- From which row to which the records of a group are told to nobody; without an end it is muted still.
        CREATE TABLE mutes (
            "group" INTEGER NOT NULL,
            first_id INTEGER NOT NULL,
            last_id INTEGER,
            PRIMARY KEY ("group", first_id)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO mutes ("group", first_id) SELECT id, 1 FROM groups WHERE state = 2;
        """
}
