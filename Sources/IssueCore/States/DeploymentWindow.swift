package import IssueProtocol

/// The time of the last declared deployment of an application, and of the one before.
package struct DeploymentWindow: Equatable, Sendable {
    private let last: IssueTimestamp
    private let previous: IssueTimestamp?

    /// - Parameter times: The times of the declared deployments, in any order.
    /// - Returns: Nil if there are none.
    package init?(_ times: some Sequence<IssueTimestamp>) {
        let newest = times.sorted().suffix(2)
        guard let last = newest.last else { return nil }
        self.last = last
        previous = newest.count > 1 ? newest.first : nil
    }

    /// Returns what happened to a group with the last deployment; nil for neither.
    ///
    /// A group that has been quiet since before the previous deployment did not end with this one.
    ///
    /// - Parameters:
    ///   - first: The time of the group's first record.
    ///   - newest: The time of the group's newest record.
    package func change(first: IssueTimestamp, newest: IssueTimestamp) -> DeploymentChange? {
        if first >= last { return .new }
        return newest < last && newest >= previous ?? newest ? .gone : nil
    }
}
