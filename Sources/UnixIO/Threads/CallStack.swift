internal import CLinux

/// The calls that are under way on this thread.
package enum CallStack {
    /// Where they return to, innermost first.
    ///
    /// Found by the frame pointers, which Swift keeps and C may not: the list
    /// may end early.
    package static func returnAddresses(atMost capacity: Int) -> [UInt] {
        unsafe [UInt](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = unsafe Int(clinux_return_addresses(buffer.baseAddress, CInt(clamping: buffer.count)))
        }
    }
}
