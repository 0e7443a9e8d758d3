internal import CLinux

/// The executable, or a library, as this process has it loaded.
package struct LoadedImage: Hashable, Sendable {
    /// Its path; that of the executable is empty.
    package var path: String
    /// What is to be taken from an address to have one of the file.
    package var base: UInt
    /// The addresses of its code.
    package var code: Range<UInt>
    /// Which build it is, in hexadecimal digits; none if the linker gave it none.
    package var buildID: String?

    /// All that is loaded now, in the order of their addresses.
    ///
    /// It asks the loader, which holds a lock meanwhile. A fork waits for who
    /// asks here, so that a child may ask as well; one that is forked off while
    /// somebody else has the lock, who loads a library or unwinds a stack in
    /// C++, would wait for ever.
    package static var all: [LoadedImage] {
        var images: [LoadedImage] = []
        unsafe withUnsafeMutablePointer(to: &images) { images in
            unsafe clinux_visit_images(
                { image, context in
                    guard let image = unsafe image?.pointee, let context = unsafe context else { return }
                    let images = unsafe context.assumingMemoryBound(to: [LoadedImage].self)
                    unsafe images.pointee.append(LoadedImage(image))
                }, images)
        }
        return images.sorted { $0.code.lowerBound < $1.code.lowerBound }
    }

    /// Another number after each image that was loaded or unloaded.
    package static var generation: UInt64 { clinux_images_generation() }

    private init(_ image: clinux_image) {
        path = unsafe image.name.map { unsafe String(cString: $0) } ?? ""
        base = UInt(unsafe image.base)
        code = UInt(unsafe image.start)..<UInt(unsafe image.end)
        if let id = unsafe image.build_id {
            let bytes = unsafe UnsafeBufferPointer(start: id, count: image.build_id_length)
            let digits = Array("0123456789abcdef")
            buildID = unsafe String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
        }
    }
}
