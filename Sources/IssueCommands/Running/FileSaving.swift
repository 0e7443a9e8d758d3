package import IssueBrowsing

/// Writes a file that the daemon has passed to where nothing is yet, or into a folder.
package struct FileSaving {
    /// Fails where the destination can't be written, as far as that can be told before there is a file to save.
    package var check: (_ destination: String) throws(CommandFailure) -> Void
    /// Saves the file and returns its path. In a folder it gets `name`.
    package var save: (_ file: PassedFile, _ destination: String, _ name: String) throws(CommandFailure) -> String

    package init(
        check: @escaping (_ destination: String) throws(CommandFailure) -> Void,
        save:
            @escaping (_ file: PassedFile, _ destination: String, _ name: String) throws(CommandFailure) -> String
    ) {
        self.check = check
        self.save = save
    }
}
