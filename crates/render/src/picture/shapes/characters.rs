//! Agents and what belongs to them: a character, a figurine of it, a pawn, an egg, a crown.

use glam::{Mat4, Vec3};

use super::super::mesh::{MeshBuilder, Paint, Part};
use super::placed;

/// Where the character's parts turn; the vertex shader has the same heights (`HIP`, `SHOULDER`).
pub(super) fn character(mesh: &mut MeshBuilder) {
    let shoe = 0x3B_34_46;
    let face = 0xFB_E9_D2;
    let pack = 0xD9_C3_A0;
    for (side, foot, arm) in [
        (-1.0, Part::LeftFoot, Part::LeftArm),
        (1.0, Part::RightFoot, Part::RightArm),
    ] {
        mesh.at(Mat4::from_translation(Vec3::new(0.07 * side, 0.045, -0.018)))
            .cuboid(Vec3::new(0.045, 0.045, 0.07), Paint::fixed(shoe).on(foot));
        mesh.at(Mat4::from_translation(Vec3::new(0.175 * side, 0.265, -0.01))
            * Mat4::from_rotation_z(0.22 * side))
            .turned(
                5,
                &[(0.028, -0.1), (0.044, -0.06), (0.038, 0.08), (0.0, 0.11)],
                |ring| {
                    if ring == 0 {
                        Paint::fixed(face).on(arm)
                    } else {
                        Paint::instance(0.86).on(arm)
                    }
                },
            );
    }
    // A coat that widens to its hem, with a belt.
    mesh.at(Mat4::from_scale(Vec3::new(1.0, 1.0, 0.86))).turned(
        8,
        &[
            (0.15, 0.075),
            (0.172, 0.12),
            (0.158, 0.2),
            (0.15, 0.235),
            (0.125, 0.34),
            (0.06, 0.39),
        ],
        |ring| match ring {
            0 => Paint::instance(0.7),
            2 => Paint::accent(0.95),
            3 => Paint::instance(1.05),
            _ => Paint::instance(1.0),
        },
    );
    mesh.at(Mat4::from_translation(Vec3::new(0.0, 0.275, 0.148)))
        .cuboid(Vec3::new(0.085, 0.085, 0.045), Paint::fixed(pack));
    mesh.at(Mat4::from_translation(Vec3::new(0.0, 0.378, 0.148))
        * Mat4::from_rotation_z(std::f32::consts::FRAC_PI_2))
        .turned(6, &[(0.032, -0.1), (0.032, 0.1)], |_| Paint::accent(0.9));

    // The head: a hood, a face turned forward, a tip that hangs back and so shows where front is.
    let head = Vec3::new(0.0, 0.475, 0.0);
    mesh.at(placed(head, Vec3::new(0.145, 0.138, 0.14)))
        .ball(true, |_| Paint::instance(1.0).on(Part::Head));
    let front = Mat4::from_translation(head + Vec3::new(0.0, -0.008, -0.088))
        * Mat4::from_rotation_x(-std::f32::consts::FRAC_PI_2);
    mesh.at(front * Mat4::from_scale(Vec3::new(1.0, 1.0, 0.92)))
        .turned(10, &[(0.118, 0.0), (0.112, 0.034), (0.096, 0.05)], |_| {
            Paint::instance(1.2).on(Part::Head)
        });
    mesh.at(front * Mat4::from_scale(Vec3::new(1.0, 1.0, 0.92)))
        .turned(10, &[(0.092, 0.03), (0.09, 0.056), (0.06, 0.066)], |_| {
            Paint::fixed(face).on(Part::Head)
        });
    mesh.at(Mat4::from_translation(head + Vec3::new(0.0, 0.08, 0.045)) * Mat4::from_rotation_x(0.85))
        .turned(6, &[(0.108, 0.0), (0.064, 0.1), (0.0, 0.215)], |_| {
            Paint::instance(0.92).on(Part::Head)
        });
    for side in [-1.0, 1.0] {
        mesh.at(Mat4::from_translation(
            head + Vec3::new(0.036 * side, 0.004, -0.152),
        ))
        .cuboid(
            Vec3::new(0.0135, 0.026, 0.008),
            Paint::fixed(0x2A_22_33).on(Part::Head),
        );
    }
}

/// A character of a fifth of the triangles, with what tells front from back: face, pack and the tip of the hood.
pub(super) fn figurine(mesh: &mut MeshBuilder) {
    mesh.turned(
        6,
        &[(0.16, 0.0), (0.172, 0.12), (0.15, 0.235), (0.06, 0.39)],
        |ring| match ring {
            0 => Paint::instance(0.72),
            1 => Paint::accent(0.95),
            _ => Paint::instance(1.0),
        },
    );
    mesh.at(Mat4::from_translation(Vec3::new(0.0, 0.275, 0.148)))
        .cuboid(Vec3::new(0.085, 0.095, 0.05), Paint::fixed(0xD9_C3_A0));
    let head = Vec3::new(0.0, 0.475, 0.0);
    mesh.at(placed(head, Vec3::splat(0.145)))
        .ball(false, |_| Paint::instance(1.05));
    mesh.at(Mat4::from_translation(head + Vec3::new(0.0, -0.005, -0.1))
        * Mat4::from_rotation_x(-std::f32::consts::FRAC_PI_2))
        .turned(5, &[(0.1, 0.0), (0.085, 0.055)], |_| Paint::fixed(0xFB_E9_D2));
    mesh.at(Mat4::from_translation(head + Vec3::new(0.0, 0.08, 0.045)) * Mat4::from_rotation_x(0.85))
        .turned(4, &[(0.11, 0.0), (0.0, 0.215)], |_| Paint::instance(0.92));
}

pub(super) fn egg(mesh: &mut MeshBuilder) {
    let shell = 0xF7_EE_DD;
    mesh.turned(
        8,
        &[
            (0.055, 0.0),
            (0.104, 0.05),
            (0.118, 0.11),
            (0.104, 0.165),
            (0.068, 0.222),
            (0.0, 0.258),
        ],
        |ring| match ring {
            2 => Paint::instance(1.0),
            0 => Paint::fixed(0xD8_CC_B8),
            _ => Paint::fixed(shell),
        },
    );
    // A nest of straw under it.
    mesh.turned(9, &[(0.15, 0.0), (0.165, 0.035), (0.1, 0.045)], |_| {
        Paint::fixed(0xA8_88_55)
    });
}

pub(super) fn crown(mesh: &mut MeshBuilder) {
    let gold = Paint::instance(1.1).glowing(0.35);
    mesh.turned(8, &[(0.1, 0.0), (0.108, 0.045)], |_| gold);
    for point in 0..8 {
        let angle = std::f32::consts::TAU * point as f32 / 8.0;
        mesh.at(Mat4::from_rotation_y(angle) * Mat4::from_translation(Vec3::new(0.0, 0.035, 0.098)))
            .turned(3, &[(0.036, 0.0), (0.0, 0.085)], |_| gold);
    }
}
