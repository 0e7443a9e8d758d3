/// How much of the log a checkpoint has brought into the database.
package struct CheckpointResult: Equatable, Sendable {
    package let framesInLog: Int
    package let framesCheckpointed: Int

    package init(framesInLog: Int, framesCheckpointed: Int) {
        self.framesInLog = framesInLog
        self.framesCheckpointed = framesCheckpointed
    }
}
