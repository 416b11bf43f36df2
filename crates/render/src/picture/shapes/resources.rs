//! Food and the six stones: each with an outline of its own, and simpler ones for a few pixels.

use glam::{Mat4, Quat, Vec3};

use super::super::mesh::{MeshBuilder, Paint};
use super::{at, placed};

pub(super) fn food(mesh: &mut MeshBuilder) {
    for (x, z, radius, brightness) in [
        (-0.05, 0.02, 0.062, 1.0),
        (0.05, 0.03, 0.056, 0.86),
        (0.0, -0.045, 0.06, 0.93),
    ] {
        mesh.at(placed(Vec3::new(x, radius * 0.95, z), Vec3::splat(radius)))
            .ball(false, |_| Paint::instance(brightness));
    }
    mesh.at(placed(Vec3::new(0.0, 0.105, 0.0), Vec3::splat(0.058)))
        .ball(false, |_| Paint::instance(1.12));
    let leaf = Paint::fixed(0x5F_B3_4C);
    for (turn, length) in [(0.4f32, 0.1), (2.6, 0.085), (4.5, 0.09)] {
        let tip = Vec3::new(turn.sin() * length, 0.185, turn.cos() * length);
        let side = Vec3::new(turn.cos(), 0.0, -turn.sin()) * 0.032;
        let base = Vec3::new(0.0, 0.15, 0.0);
        let middle = tip * 0.55 + Vec3::Y * 0.085;
        mesh.at(Mat4::IDENTITY)
            .quad([base, middle - side, tip, middle + side], leaf)
            .quad([base, middle + side, tip, middle - side], leaf);
    }
}

pub(super) fn food_plain(mesh: &mut MeshBuilder) {
    let berries = [0.88, 1.08].map(Paint::instance);
    mesh.turned(5, &[(0.07, 0.0), (0.115, 0.06), (0.03, 0.15)], &berries);
    mesh.turned(3, &[(0.07, 0.14), (0.0, 0.2)], &[Paint::fixed(0x5F_B3_4C)]);
}

pub(super) fn linemate(mesh: &mut MeshBuilder) {
    mesh.at(placed(Vec3::Y * 0.08, Vec3::ONE) * Mat4::from_rotation_y(0.35))
        .cuboid(Vec3::splat(0.08), Paint::instance(1.0));
    mesh.at(at(0.0, 0.165, 0.0) * Mat4::from_rotation_y(0.35))
        .cuboid(Vec3::new(0.062, 0.008, 0.062), Paint::instance(1.2));
}

/// A turned profile of three rings in two shades.
pub(super) fn gem(mesh: &mut MeshBuilder, sides: u32, profile: [(f32, f32); 3], shades: [f32; 2]) {
    mesh.turned(sides, &profile, &shades.map(Paint::instance));
}

pub(super) fn phiras(mesh: &mut MeshBuilder) {
    mesh.at(Mat4::from_rotation_z(-0.1));
    gem(mesh, 5, [(0.05, 0.0), (0.066, 0.2), (0.0, 0.32)], [0.95, 1.15]);
    mesh.at(at(0.062, 0.0, 0.03) * Mat4::from_rotation_z(-0.45));
    gem(mesh, 5, [(0.034, 0.0), (0.042, 0.1), (0.0, 0.175)], [0.85; 2]);
    mesh.at(at(-0.058, 0.0, -0.02) * Mat4::from_rotation_z(0.4));
    gem(mesh, 5, [(0.03, 0.0), (0.036, 0.07), (0.0, 0.13)], [0.8; 2]);
}

pub(super) fn thystame(mesh: &mut MeshBuilder) {
    let middle = Vec3::Y * 0.15;
    let spikes = Paint::instance(1.0).glowing(0.3);
    mesh.at(placed(middle, Vec3::splat(0.058)))
        .ball(false, |_| Paint::instance(1.1).glowing(0.55));
    let golden = (1.0 + 5f32.sqrt()) / 2.0;
    // The spikes stand on the corners of an icosahedron.
    for (one, other) in [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)] {
        for spike in [
            Vec3::new(0.0, one, other),
            Vec3::new(one, other, 0.0),
            Vec3::new(other, 0.0, one),
        ] {
            let towards = spike.normalize();
            mesh.at(pointing(middle, towards))
                .turned(3, &[(0.036, 0.035), (0.0, 0.15)], &[spikes]);
        }
    }
}

pub(super) fn thystame_plain(mesh: &mut MeshBuilder) {
    let middle = Vec3::Y * 0.15;
    let spikes = Paint::instance(1.0).glowing(0.3);
    for spike in [Vec3::Y, Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z] {
        // A quarter of a turn between the axes, so that no spike points straight at an eye in the south.
        let towards = Quat::from_rotation_y(0.5) * spike;
        mesh.at(pointing(middle, towards))
            .turned(3, &[(0.055, -0.02), (0.0, 0.15)], &[spikes]);
    }
}

/// From `from`, with `y` in this direction.
fn pointing(from: Vec3, towards: Vec3) -> Mat4 {
    Mat4::from_translation(from) * Mat4::from_quat(Quat::from_rotation_arc(Vec3::Y, towards))
}
