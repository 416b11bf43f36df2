//! What only grows there: grass and flowers. Pale, so that none of it is taken for a find.

use glam::Vec3;

use super::super::mesh::{MeshBuilder, Paint};
use super::at;

pub(super) fn tuft(mesh: &mut MeshBuilder) {
    for blade in 0..5 {
        let angle = blade as f32 * 2.4;
        let lean = Vec3::new(angle.sin(), 0.0, angle.cos());
        let across = Vec3::new(lean.z, 0.0, -lean.x) * 0.016;
        let base = lean * 0.018;
        let tip = lean * 0.055 + Vec3::Y * (0.09 + 0.03 * (blade % 3) as f32);
        let paint = Paint::instance(0.9 + 0.12 * (blade % 3) as f32);
        mesh.triangle([base - across, base + across, tip], paint);
    }
    // Blades are lit as the meadow is, from whichever side they are seen.
    mesh.light_from_above();
}

/// Three heads of five petals over a tuft.
pub(super) fn flower(mesh: &mut MeshBuilder) {
    tuft(mesh);
    for (x, z, height) in [(0.0, 0.0, 0.115), (0.055, 0.025, 0.09), (-0.03, 0.05, 0.075)] {
        let petals = [(0.008, -0.012), (0.03, 0.004), (0.006, 0.01)];
        mesh.at(at(x, height, z))
            .turned(5, &petals, &[Paint::accent(1.05)]);
    }
}
