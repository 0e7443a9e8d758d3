/// Reports that were read of a connection that is gone: they count until they are stored.
struct Orphan {
    var user: SocketUser
    var bytes: Int
    var reports: Int
}
