/// Waits until the daemon has all issues that were reported so far.
///
/// Call it before `exec` or `_exit`, which leave no time for what is on its
/// way. It blocks the calling thread, so it doesn't belong into a task.
///
/// - Parameter timeout: How long to wait at most.
/// - Returns: Whether all of them were answered.
@discardableResult
public func flushIssues(timeout: Duration = .seconds(1)) -> Bool {
    Delivery.existing?.flush(timeout: timeout) ?? true
}
