//! Render quality: what each level draws, and what that costs.

use crate::picture::Detail;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// For processors that draw by themselves: no thrown shadows, no glow round bright things, fewer triangles, and edges
    /// that are smooth on a graphics card only.
    Swift,
    /// For graphics cards, and for pictures that may take their time.
    Fine,
}

impl Quality {
    pub fn name(self) -> &'static str {
        match self {
            Self::Swift => "swift",
            Self::Fine => "fine",
        }
    }

    pub fn detail(self) -> Detail {
        match self {
            Self::Swift => Detail::SWIFT,
            Self::Fine => Detail::FINE,
        }
    }

    pub(super) fn samples(self, is_software: bool) -> u32 {
        match self {
            // Four make a frame cost a processor two to three times as much, and a graphics card next to nothing.
            Self::Swift if is_software => 1,
            Self::Swift | Self::Fine => 4,
        }
    }

    pub(super) fn shadow_side(self) -> u32 {
        match self {
            Self::Swift => 1,
            Self::Fine => 2048,
        }
    }

    pub(super) fn has_shadows(self) -> bool {
        self == Self::Fine
    }
}
