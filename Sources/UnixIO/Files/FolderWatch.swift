import CLinux

/// Tells that something was taken out of a folder, or that the folder itself is gone.
package final class FolderWatch: Sendable {
    /// Readable when something has happened since the last look.
    package let descriptor: FileDescriptor

    package init(_ folder: String) throws(Errno) {
        let watch = FileDescriptor(owning: try calling { clinux_folder_watch_create() })
        try calling { unsafe clinux_folder_watch_add(watch.rawValue, folder) }
        descriptor = watch
    }

    /// Forgets what has happened; who asks then looks for himself.
    package func clear() {
        var events: [UInt8] = []
        while case .bytes = descriptor.attemptRead(appendingTo: &events, atMost: 4096) {
            events.removeAll(keepingCapacity: true)
        }
    }
}
