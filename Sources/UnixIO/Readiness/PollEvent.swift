import CLinux

/// A descriptor that has become ready, by the token it was added with.
package struct PollEvent: Hashable, Sendable {
    package let token: UInt64
    private let flags: UInt32

    /// The same room, in the kernel shim's words.
    ///
    /// Both types hold a 64-bit and then a 32-bit number, so the shim can fill
    /// the caller's array without a copy.
    static func forKernel(_ room: UnsafeMutableBufferPointer<PollEvent>) -> UnsafeMutablePointer<clinux_event>? {
        precondition(
            MemoryLayout<PollEvent>.stride == MemoryLayout<clinux_event>.stride,
            "An event has another layout than its shim")
        return unsafe UnsafeMutableRawPointer(room.baseAddress)?.assumingMemoryBound(to: clinux_event.self)
    }

    /// A read will give bytes, the end, or an error, but will not wait.
    package var isReadable: Bool { has(CLINUX_READ) || has(CLINUX_PEER_CLOSED) || isHungUp }
    package var isWritable: Bool { has(CLINUX_WRITE) || isHungUp }
    /// Nothing can be exchanged any more in either direction.
    package var isHungUp: Bool { has(CLINUX_HANG_UP) || has(CLINUX_ERROR) }
    /// The peer will send nothing more; it may still read.
    package var isPeerClosed: Bool { has(CLINUX_PEER_CLOSED) || has(CLINUX_HANG_UP) }

    private func has(_ flag: UInt32) -> Bool {
        flags & flag != 0
    }
}
