/// Moves a file to where nothing is yet, or into a folder.
package struct FileMove {
    /// Whether it can be done as far as that can be told before there is a file to move.
    package var check: (_ destination: String) throws(CommandFailure) -> Void
    /// Does it, and answers where the file is then.
    package var move: (_ source: String, _ destination: String) throws(CommandFailure) -> String

    package init(
        check: @escaping (_ destination: String) throws(CommandFailure) -> Void,
        move: @escaping (_ source: String, _ destination: String) throws(CommandFailure) -> String
    ) {
        self.check = check
        self.move = move
    }
}
