internal import CLinux

/// The calls that are under way on this thread.
package enum CallStack {
    /// How deep the calls are nested at some point.
    package struct Mark: Sendable {
        fileprivate var frame: UInt

        /// Where this is called.
        package init() {
            frame = clinux_stack_mark()
        }

        fileprivate init(frame: UInt) {
            self.frame = frame
        }

        /// Deeper than any call.
        package static var bottom: Mark { Mark(frame: 0) }
    }

    /// Where they return to, innermost first, without what was called from where the mark was made.
    ///
    /// Found by the frame pointers, which Swift keeps and C may not: the list
    /// may end early.
    package static func returnAddresses(above mark: Mark = .bottom, atMost capacity: Int) -> [UInt] {
        unsafe [UInt](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = unsafe Int(clinux_return_addresses(mark.frame, buffer.baseAddress, CInt(clamping: buffer.count)))
        }
    }
}
