import UnixIO

var ownPID: Int32 { CurrentProcess.pid }
var ownUserID: UInt32 { CurrentProcess.userID }
