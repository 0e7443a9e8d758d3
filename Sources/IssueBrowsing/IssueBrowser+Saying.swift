internal import IssueProtocol
public import Issues

/// Who reported an issue may say something of it, and operators of every one.
extension IssueBrowser {
    /// Says that an issue is mended: the next record of it opens it again, which operators hear of.
    ///
    /// - Parameters:
    ///   - group: The group's id.
    ///   - isUntilNewerVersion: Whether only a record of a version of the application opens it that is newer than all
    ///     so far.
    /// - Returns: The group as it is then.
    @discardableResult
    public func resolve(_ group: String, untilNewerVersion isUntilNewerVersion: Bool = false) async throws -> Group {
        try await say(
            SetStateParameters(
                group: group, state: .resolved, untilNewerVersion: isUntilNewerVersion ? true : nil))
    }

    /// Has an issue stored and counted, and nobody told.
    ///
    /// What comes in meanwhile is withheld from all destinations, also when it is reopened.
    ///
    /// - Parameters:
    ///   - group: The group's id.
    ///   - end: Until when; until it is reopened if nil.
    ///   - isUntilNewerVersion: Whether a record of a version of the application ends it that is newer than all so far.
    /// - Returns: The group as it is then.
    @discardableResult
    public func mute(
        _ group: String, until end: IssueTimestamp? = nil, untilNewerVersion isUntilNewerVersion: Bool = false
    ) async throws -> Group {
        try await say(
            SetStateParameters(
                group: group, state: .muted, until: end?.wire, untilNewerVersion: isUntilNewerVersion ? true : nil))
    }

    /// Takes back that an issue is resolved or muted.
    ///
    /// - Parameter group: The group's id.
    /// - Returns: The group as it is then.
    @discardableResult
    public func reopen(_ group: String) async throws -> Group {
        try await say(SetStateParameters(group: group, state: .open))
    }

    private func say(_ parameters: SetStateParameters) async throws -> Group {
        Group(try await ask { session throws(DeliveryError) in try session.setState(parameters).value.group })
    }
}
