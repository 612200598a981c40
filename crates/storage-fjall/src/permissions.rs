//! Only the owner of a store can read it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// What everybody but the owner may do.
const OTHERS: u32 = 0o077;

/// Makes a folder that only its owner can enter, unless it is there.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Takes away what others may do with a folder and everything in it. Returns whether they could enter
/// it: otherwise the files in it were out of their reach whatever their own modes say. What belongs to
/// somebody else is left as it is.
pub(crate) fn tighten(path: &Path) -> io::Result<bool> {
    let was_open = path.metadata()?.permissions().mode() & OTHERS != 0;
    tighten_all(path)?;
    Ok(was_open)
}

fn tighten_all(path: &Path) -> io::Result<()> {
    tighten_one(path)?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // A link belongs to whoever made it, and so does what it leads to.
            let kind = entry.file_type()?;
            if kind.is_dir() || kind.is_file() {
                tighten_all(&entry.path())?;
            }
        }
    }
    Ok(())
}

fn tighten_one(path: &Path) -> io::Result<()> {
    let mode = path.metadata()?.permissions().mode();
    if mode & OTHERS == 0 {
        return Ok(());
    }
    match fs::set_permissions(path, PermissionsExt::from_mode(mode & !OTHERS)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        tightened => tightened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_and_files_that_others_could_read_are_for_their_owner_alone() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("data");
        fs::create_dir_all(path.join("below")).unwrap();
        fs::write(path.join("below/file"), "x").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        fs::set_permissions(path.join("below"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::set_permissions(path.join("below/file"), PermissionsExt::from_mode(0o644)).unwrap();
        let mode = |name: &str| path.join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert!(tighten(&path).unwrap());
        assert_eq!((mode(""), mode("below"), mode("below/file")), (0o700, 0o700, 0o600));
        fs::set_permissions(path.join("below/file"), PermissionsExt::from_mode(0o644)).unwrap();
        assert!(!tighten(&path).unwrap(), "nobody else could reach the file");
        assert_eq!(mode("below/file"), 0o600);
    }
}
