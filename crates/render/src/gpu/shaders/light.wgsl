// Shadows of the sun, and the ground's paint. Prepended where they are used.

@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var shadow_sampler: sampler_comparison;
@group(1) @binding(2) var paint: texture_2d<f32>;
@group(1) @binding(3) var paint_sampler: sampler;
@group(1) @binding(4) var crowd: texture_2d<f32>;

// How much of the sun reaches `position`: 0 none, 1 all.
fn sunlit(position: vec3f, normal: vec3f) -> f32 {
    if !SHADOWS {
        return 1.0;
    }
    // Off the surface by a little, more where the sun grazes it, so that it does not shade itself.
    let grazing = 1.0 - clamp(dot(normal, frame.sun_direction.xyz), 0.0, 1.0);
    let start = position + normal * (0.01 + 0.03 * grazing);
    let at = (frame.shadow_from_world * vec4f(start, 1.0)).xyz;
    let place = vec2f(at.x * 0.5 + 0.5, 0.5 - at.y * 0.5);
    let edge = max(abs(at.x), abs(at.y));
    if edge >= 1.0 || at.z >= 1.0 {
        return 1.0;
    }
    var lit = 0.0;
    for (var down = -1; down <= 1; down += 1) {
        for (var right = -1; right <= 1; right += 1) {
            let tap = place + vec2f(f32(right), f32(down)) * frame.detail.z * 1.2;
            lit += textureSampleCompareLevel(shadow_map, shadow_sampler, tap, at.z);
        }
    }
    lit /= 9.0;
    // No visible line where the map of shadows ends.
    return mix(lit, 1.0, smoothstep(0.85, 1.0, edge));
}
