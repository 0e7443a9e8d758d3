extension Schema {
    /// What tells a copy from the store that it was made of.
    static let copies: StaticString = """
        -- When this file was made as a copy; a store that is in use has no row here.
        CREATE TABLE copies (
            at INTEGER PRIMARY KEY
        ) STRICT;
        """
}
