import IssueProtocol
import Issues
import UnixIO

var ownPID: Int32 { CurrentProcess.pid }
var ownUserID: UInt32 { CurrentProcess.userID }

extension IssueTimestamp {
    /// Returns the present time of the host's clock plus a duration.
    static func fromNow(_ time: Duration) -> IssueTimestamp { now.advanced(by: time) }
}
